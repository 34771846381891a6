"""Where a server's character set differs from Python's codec of that name, or Python has none.

`ODD_BYTES`: by set, runs of characters and the byte that the first of each stands for.  A question mark
is what the server shows for a byte that means nothing to it.  Compared with the servers in a test.
"""

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

# Three bytes from 8F F3 F3 on, each row to its end: what IBM's and NEC's extensions add to JIS X 0212.
_EXTRA = (
    "ⅰⅱⅲⅳⅴⅵⅶⅷⅸⅹⅠⅡ",
    "ⅢⅣⅤⅥⅦⅧⅨⅩ＇＂㈱№℡炻仼僴凬匇匤﨎咊坙﨏塚增寬峵嵓﨑德悅愠敎昻晥晴朗栁﨓﨔橫櫢淸淲瀨凞猪甁皂皞益礰"
    "礼神祥福竧靖精綠緖羽荢﨟薰蘒﨡蠇諸譿賴赶﨣﨤逸郞都鄕﨧﨨閒隆﨩霻靍靑飯飼館馞髙魲鶴黑",
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
