"""Where a server's character set differs from Python's codec of that name, or Python has no such codec.

`ODD_BYTES`: by set, runs of characters and the byte of the first character in each run.  The server shows a
question mark for a byte without a meaning.  A test compares the tables with the servers.
"""

# ruff: noqa: RUF001 - letters that look like others are what this is about

from collections.abc import Mapping
from types import MappingProxyType

ODD_BYTES: Mapping[str, Mapping[int, str]] = MappingProxyType(
    {
        "armscii8": {
            0xA1: "❁§։)(»«—.՝,-՟…՜՛՞",
            0xB2: "ԱաԲբԳգԴդԵեԶզԷէԸըԹթԺժԻիԼլԽխԾծԿկՀհՁձՂղՃճՄմՅյՆնՇշՈոՉչՊպՋջՌռՍսՎվՏտՐրՑցՒւՓփՔքՕօՖֆ’'",
        },
        "cp1256": dict.fromkeys((138, 143, 152, 154, 159, 170, 192, 255), "?"),
        "cp866": {0xFC: "ⁿ²"},
        "dec8": {
            0xA4: "?",
            0xA6: "?§¤",
            0xAC: "????",
            0xB4: "?",
            0xB8: "?",
            0xBE: "?",
            0xD0: "?",
            0xD7: "Œ",
            0xDD: "Ÿ?",
            0xF0: "?",
            0xF7: "œ",
            0xFD: "ÿ??",
        },
        "geostd8": {
            0x80: "€?‚?„…†‡?‰?‹?????‘’“”•–—???›????",
            0xC0: "აბგდევზჱთიკლმნჲოპჟრსტჳუფქღყშჩცძწჭხჴჯჰჵ" + "?" * 23 + "№??",
        },
        "greek": {0xA1: "ʽʼ", 0xA4: "??", 0xAA: "?"},
        "hebrew": {0xAF: "‾"},
        "keybcs2": {
            0x80: "ČüéďäĎŤčěĚĹÍľĺÄÁÉžŽôöÓůÚýÖÜŠĽÝŘť",
            0xA4: "ňŇŮÔšřŕŔ",
        },
        "koi8u": {0x95: "•"},
        "latin1": {byte: chr(byte) for byte in (0x81, 0x8D, 0x8F, 0x90, 0x9D)},
        "swe7": {0x40: "É", 0x5B: "ÄÖÅÜ_é", 0x7B: "äöåü?"},
        "tis620": {0xA0: "\ufffd", 0xDB: "\ufffd" * 4, 0xFC: "\ufffd" * 4},
    }
)

# Three bytes from 8F F3 F3 on, each row to its end: the additions of IBM and NEC to JIS X 0212.
_EXTRA = (
    "ⅰⅱⅲⅳⅴⅵⅶⅷⅸⅹⅠⅡ",
    (
        "ⅢⅣⅤⅥⅦⅧⅨⅩ＇＂㈱№℡炻仼僴凬匇匤\ufa0e咊坙\ufa0f\ufa10增寬峵嵓\ufa11德悅愠敎昻晥\ufa12\uf929栁\ufa13\ufa14橫櫢淸淲瀨\ufa15\ufa16"
        "甁皂皞\ufa17礰\ufa18\ufa19\ufa1a\ufa1b竧\ufa1c\ufa1d綠緖\ufa1e荢\ufa1f薰\ufa20\ufa21蠇\ufa22譿賴赶\ufa23\ufa24\ufa25郞\ufa26鄕\ufa27\ufa28閒\uf9dc\ufa29霻靍靑\ufa2a\ufa2b\ufa2c馞髙魲\ufa2d黑"
    ),
)
_STARTS = (b"\x8f\xf3\xf3", b"\x8f\xf4\xa1")
EUCJPMS_EXTRA: Mapping[bytes, str] = MappingProxyType(
    {
        start[:2] + bytes((start[2] + nth,)): character
        for start, row in zip(_STARTS, _EXTRA, strict=True)
        for nth, character in enumerate(row)
    }
    | {b"\x8f\xa2\xb7": "～", b"\x8f\xa2\xc3": "￤"}
)
