# Python's own number parser: it knows no locale, and stops at the first character that is not the number's.
cdef extern from "Python.h":
    double PyOS_string_to_double(const char* text, char** stop, void* overflow) except? -1.0
