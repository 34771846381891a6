"""The conformance table's second half: types that are made of others, by the user or by an extension."""

from decimal import Decimal

from tests.fixtures.every_kind import Value
from tests.integration.postgres.conformance import (
    GEOMETRIC,
    INFINITY,
    LONG,
    NAN,
    NETWORK,
    NUMBERS,
    OF_THE_SERVER,
    PLAIN,
    SEARCH,
    TEXTS,
    TIMES,
    Case,
    days,
    exact,
    micros,
    same,
    single,
)
from wrackline.schemas.tables.infinity import FIRST_DAY, LAST_MICROS
from wrackline.schemas.tables.types import Kind

SETUP = r"""
CREATE EXTENSION citext; CREATE EXTENSION hstore; CREATE EXTENSION ltree; CREATE EXTENSION cube;
CREATE EXTENSION seg; CREATE EXTENSION isn; CREATE EXTENSION lo; CREATE EXTENSION intarray;
CREATE EXTENSION earthdistance;
CREATE TABLE shown (id int PRIMARY KEY);
CREATE TYPE mood AS ENUM ('low', 'it''s, high', '🌊');
CREATE TYPE address AS (street text, number int, since timestamptz, cost money);
CREATE TYPE person AS (name text, home address, moods mood[]);
CREATE TYPE span AS RANGE (SUBTYPE = float8);
CREATE DOMAIN price AS numeric(10,2);
CREATE DOMAIN dear_price AS price CHECK (VALUE > 100) NOT NULL;
CREATE DOMAIN label AS text CHECK (length(VALUE) < 9);
CREATE DOMAIN code AS char(3);
CREATE DOMAIN seen_at AS timestamptz;
CREATE DOMAIN good_mood AS mood;
CREATE DOMAIN int_list AS int[];
CREATE DOMAIN home AS address;
CREATE DOMAIN weeks AS daterange
"""
# Types that need a build of their own: here only their names, with the input and output of text.
STAND_INS = ("vector", "halfvec", "sparsevec", "geography", "raster", "geometry", "box2d", "box3d")
UNKNOWN = ("strange", "query_int")  # a base type that nobody here has looked at, and an extension's


def stand_in(name: str) -> str:
    """Make a base type of this name whose text is whatever was written."""
    delimiter = ", DELIMITER = ':'" if name == "geometry" else ""
    return f"""
CREATE TYPE {name};
CREATE FUNCTION {name}_in(cstring) RETURNS {name} LANGUAGE internal IMMUTABLE STRICT AS 'textin';
CREATE FUNCTION {name}_out({name}) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout';
CREATE TYPE {name} (INPUT = {name}_in, OUTPUT = {name}_out, LIKE = text{delimiter})"""


_DAY = "2026-01-31"
_SECOND = f"{_DAY} 07:55:01"
_IN_UTC = f"{_DAY}T07:55:01Z"
_UUID = "c56a4180-65aa-42ec-a945-5fd21dec0538"
_DOUBLES: list[Value] = [*[1.0] * 500, 0.1]
_SINGLES: list[Value] = [single(0x3DCCCCCD), -0.0, NAN, -INFINITY]

MADE = (
    Case("price", Kind.DECIMAL, exact("0.01", "-99999999.99"), unfit=("NaN",), note="a domain is its base"),
    Case("label", Kind.STRING, same("", "a\tb")),
    Case("code", Kind.STRING, (("ab", "ab "), ("abc", "abc"))),
    Case(
        "seen_at",
        Kind.ZONED_TIMESTAMP,
        (("2026-01-31 00:00:00+00", "2026-01-31T00:00:00Z"), *same("infinity")),
    ),
    Case("good_mood", Kind.ENUM, same("low")),
    Case("int_list", Kind.ARRAY, (("{1,NULL}", [1, None]), ("{}", [])), ("{{1},{2}}",)),
    Case("home", Kind.TEXT_OF, same("(,5,,)")),
    Case("weeks", Kind.TEXT_OF, same("[2026-01-01,2026-02-01)")),
    Case(
        "address",
        Kind.TEXT_OF,
        (
            *same("(,,,)", '("Main ""St"", 5\\\\",-1,,)', '("",,"2026-01-31 07:55:01+00",)'),
            ("(a,1,,1234.5)", '(a,1,,"$1,234.50")'),
        ),
        note="what stands in it is written as in a column of its own as text",
    ),
    Case("person", Kind.TEXT_OF, same('(\U0001f30a,"(""Main St"",5,,)","{low,""it\'s, high""}")')),
    Case("int4range", Kind.TEXT_OF, (*same("empty", "(,)", "[1,5)"), ("(1,5]", "[2,6)"))),
    Case("int8range", Kind.TEXT_OF, same("[-9223372036854775808,9223372036854775807)")),
    Case("numrange", Kind.TEXT_OF, same("[1.0,2.50]", "[1,NaN]")),
    Case("tsrange", Kind.TEXT_OF, same('["2026-01-01 00:00:00",infinity)', '("4714-11-24 00:00:00 BC",)')),
    Case("tstzrange", Kind.TEXT_OF, same('["2026-01-01 00:00:00+00","2026-01-02 00:00:00.5+00")')),
    Case("daterange", Kind.TEXT_OF, same("[2026-01-01,infinity)", '["0044-03-15 BC",0044-03-15)')),
    Case("span", Kind.TEXT_OF, same("[0.1,1e+300]")),
    Case("int4multirange", Kind.TEXT_OF, same("{}", "{[1,3),[5,8)}")),
    Case("int8multirange", Kind.TEXT_OF, same("{(,9223372036854775807)}")),
    Case("nummultirange", Kind.TEXT_OF, same("{[1.0,2.50]}")),
    Case("tsmultirange", Kind.TEXT_OF, same('{["2026-01-01 00:00:00",)}')),
    Case("tstzmultirange", Kind.TEXT_OF, same('{["2026-01-01 00:00:00+00",infinity)}')),
    Case("datemultirange", Kind.TEXT_OF, same("{[2026-01-01,2026-02-01)}")),
    Case("span_multirange", Kind.TEXT_OF, same("{[0.1,0.2],[1,2]}"), note="of a range type of one's own"),
)


ARRAYS = (
    Case("boolean[]", Kind.ARRAY, (("{t,NULL,f}", [True, None, False]), ("{}", []))),
    Case("smallint[]", Kind.ARRAY, (("{-32768,32767}", [-(2**15), 2**15 - 1]),)),
    Case(
        "integer[]",
        Kind.ARRAY,
        (("{}", []), ("{NULL}", [None]), ("{1,NULL,-2147483648}", [1, None, -(2**31)])),
        unfit=("{{1,2},{3,4}}", "[0:1]={1,2}", "[-1:0][2:2]={{7},{8}}"),
    ),
    Case("bigint[]", Kind.ARRAY, (("{9223372036854775807,-9223372036854775808}", [2**63 - 1, -(2**63)]),)),
    Case("oid[]", Kind.ARRAY, (("{0,4294967295}", [0, 2**32 - 1]),)),
    Case("xid8[]", Kind.ARRAY, (("{1,18446744073709551615}", [Decimal(1), Decimal(2**64 - 1)]),)),
    Case("real[]", Kind.ARRAY, (("{0.1,-0,NaN,-Infinity}", _SINGLES),)),
    Case("double precision[]", Kind.ARRAY, (("{" + "1," * 500 + "0.1}", _DOUBLES),)),
    Case(
        "numeric(10,2)[]",
        Kind.ARRAY,
        (("{0.00,NULL,-99999999.99}", [Decimal("0.00"), None, Decimal("-99999999.99")]),),
        unfit=("{1.00,NaN}",),
    ),
    Case("numeric[]", Kind.ARRAY, (("{NaN,1.50," + "9" * 40 + "}", ["NaN", "1.50", "9" * 40]),)),
    Case("money[]", Kind.ARRAY, (('{"$1,234.50",-0.01}', [Decimal("1234.50"), Decimal("-0.01")]),)),
    Case(
        "text[]",
        Kind.ARRAY,
        (
            ("{}", []),
            ('{NULL,"NULL","","null"}', [None, "NULL", "", "null"]),
            (r'{"a\"b","c\\d","{e}","f,g"," h ",i}', ['a"b', "c\\d", "{e}", "f,g", " h ", "i"]),
            ('{"tab\there","line\nhere",' + f'"{PLAIN}"' + "}", ["tab\there", "line\nhere", PLAIN]),
            (f'{{{LONG},"{LONG} {LONG}"}}', [LONG, f"{LONG} {LONG}"]),
        ),
        unfit=("{{a,b}}", "[5:5]={secret}"),
    ),
    Case("character(3)[]", Kind.ARRAY, (("{a,NULL}", ["a  ", None]),)),
    Case('"char"[]', Kind.ARRAY, (('{a,"\\"","\\\\"}', ["a", '"', "\\"]),)),
    Case("bytea[]", Kind.ARRAY, (('{"\\\\x","\\\\x00ff",NULL}', [b"", b"\x00\xff", None]),)),
    Case("bit(1)[]", Kind.ARRAY, (("{1,0}", [True, False]),)),
    Case("bit(12)[]", Kind.ARRAY, (("{000000000001,NULL}", [b"\x01\x00", None]),)),
    Case("bit varying[]", Kind.ARRAY, (('{"",01}', ["", "01"]),)),
    Case(
        "date[]",
        Kind.ARRAY,
        (
            (
                f'{{{_DAY},"0044-03-15 BC",NULL,-infinity}}',
                [days(_DAY), days("0044-03-15 BC"), None, FIRST_DAY],
            ),
        ),
    ),
    Case("time[]", Kind.ARRAY, (("{24:00:00,NULL}", [86_400_000_000, None]),)),
    Case("time with time zone[]", Kind.ARRAY, (("{07:55:01+02}", ["07:55:01+02:00"]),)),
    Case(
        "timestamp[]",
        Kind.ARRAY,
        ((f'{{"{_SECOND}",NULL,infinity}}', [micros(_SECOND), None, LAST_MICROS]),),
    ),
    Case(
        "timestamp with time zone[]",
        Kind.ARRAY,
        ((f'{{"{_SECOND}+00",infinity,-infinity}}', [_IN_UTC, "infinity", "-infinity"]),),
    ),
    Case("interval[]", Kind.ARRAY, (("{P1Y2M,PT-0.5S}", ["P1Y2M", "PT-0.5S"]),)),
    Case("uuid[]", Kind.ARRAY, ((f"{{{_UUID},NULL}}", [_UUID, None]),)),
    Case("json[]", Kind.ARRAY, ((r'{"{\"a\": [1, \"b\\\"c\"]}"}', ['{"a": [1, "b\\"c"]}']),), key=False),
    Case("jsonb[]", Kind.ARRAY, ((r'{"{\"a\":1}",null,"null"}', ['{"a": 1}', None, "null"]),)),
    Case("xml[]", Kind.ARRAY, (("{<a/>}", ["<a/>"]),), key=False),
    Case("inet[]", Kind.ARRAY, (("{10.0.0.1/8,::1}", ["10.0.0.1/8", "::1"]),)),
    Case("mood[]", Kind.ARRAY, (('{low,"it\'s, high",NULL}', ["low", "it's, high", None]),)),
    Case("price[]", Kind.ARRAY, (("{0.01}", [Decimal("0.01")]),), ("{NaN}",)),
    Case("address[]", Kind.ARRAY, ((r'{"(\"a, b\",1,,)",NULL}', ['("a, b",1,,)', None]),)),
    Case("int4range[]", Kind.ARRAY, (('{"[1,5)",empty}', ["[1,5)", "empty"]),)),
    Case("int4multirange[]", Kind.ARRAY, (('{"{[1,5)}"}', ["{[1,5)}"]),)),
    Case("point[]", Kind.ARRAY, (('{"(1,2)"}', ["(1,2)"]),), key=False),
    Case("box[]", Kind.TEXT_OF, same("{(1,1),(0,0);(2,2),(0,0)}"), key=False, note="no comma parts them"),
    Case("int_list[]", Kind.TEXT_OF, same('{"{1,2}","{}"}'), note="of arrays"),
    Case("hstore[]", Kind.ARRAY, ((r'{"\"a\"=>\"1\""}', ['"a"=>"1"']),)),
    Case("citext[]", Kind.ARRAY, (('{A,NULL,""}', ["A", None, ""]),)),
    Case("int2vector[]", Kind.ARRAY, (('{"1 2"}', ["1 2"]),), key=False),
)

EXTENSIONS = (
    Case("hstore", Kind.TEXT_OF, same("", '"a"=>"1", "b"=>NULL', '"q\\"q"=>"\\\\"')),
    Case("ltree", Kind.TEXT_OF, same("", "a.b_1.C")),
    Case("lquery", Kind.TEXT_OF, same("*.a|b.*{1,2}"), key=False),
    Case("ltxtquery", Kind.TEXT_OF, same("a & !b*"), key=False),
    Case("cube", Kind.TEXT_OF, same("(1.5)", "(1, 2),(3, 4)")),
    Case("earth", Kind.TEXT_OF, same("(6378168, 0, 0)"), note="a domain over cube"),
    Case("seg", Kind.TEXT_OF, same("1.0 .. 2.00", "~5", "<3")),
    Case("isbn13", Kind.TEXT_OF, same("978-0-393-04002-9")),
    Case("isbn", Kind.TEXT_OF, same("0-393-04002-X")),
    Case("ismn13", Kind.TEXT_OF, same("979-0-2600-0043-8")),
    Case("ismn", Kind.TEXT_OF, same("M-2600-0043-8")),
    Case("issn13", Kind.TEXT_OF, same("977-1436-452-00-8")),
    Case("issn", Kind.TEXT_OF, same("1436-4522")),
    Case("ean13", Kind.TEXT_OF, same("978-0-393-04002-9")),
    Case("upc", Kind.TEXT_OF, same("220356483481")),
    Case("lo", Kind.INT64, (("4294967295", 2**32 - 1),)),
    *(Case(name, Kind.TEXT_OF, same("[1,2.5]"), key=False, note="a stand-in") for name in STAND_INS),
    Case("vector[]", Kind.ARRAY, (('{"[1,2.5]",NULL}', ["[1,2.5]", None]),), key=False, note="a stand-in"),
    Case("geometry[]", Kind.TEXT_OF, same("{00:01}"), key=False, note="a stand-in"),
)

TABLE: dict[str, tuple[Case, ...]] = {
    "Numbers": NUMBERS,
    "Text": TEXTS,
    "Dates and times": TIMES,
    "Networks": NETWORK,
    "Geometry": GEOMETRIC,
    "Text search and paths": SEARCH,
    "The server's own": OF_THE_SERVER,
    "Domains, composites, ranges": MADE,
    "Arrays": ARRAYS,
    "Extensions": EXTENSIONS,
}
