#!/usr/bin/env python3
"""The fuzz targets' first inputs.

seeds.py           writes seeds/TARGET.txt, an input a line in hexadecimal: from the captured exchanges of
                   src/wire/testdata, the planner's golden cases, and the lists below
seeds.py --corpus  writes each as a file of corpus/TARGET, where cargo-fuzz looks
"""
import hashlib
import pathlib
import re
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent / "src"
MOST = 80        # inputs of a target
LONGEST = 700    # bytes of an input


def payloads(reply):
    while len(reply) >= 4:
        end = 4 + int.from_bytes(reply[:3], "little")
        yield reply[4:end]
        reply = reply[end:]


class Seeds:
    def __init__(self):
        self.inputs, self.kept = {}, {}

    def add(self, target, data, keep=False):
        """keep: it is among those that are written, however many there are."""
        self.inputs.setdefault(target, {})
        if keep:
            self.kept.setdefault(target, {})[data] = None
        elif len(data) <= LONGEST:
            self.inputs[target][data] = None

    def block(self, lines):
        fields = dict(word.split("=") for word in lines[0].split() if "=" in word)
        capabilities = struct.pack("<Q", int(fields.get("caps", "0"), 16))
        for line in lines[1:]:
            key, _, value = line.partition(" ")
            data = bytes.fromhex(value)
            if key == "reply":
                self.add("frame", b"\x07" + data)
                self.add("tracker", bytes([int(fields["command"], 16), 3]) + capabilities + data)
                for payload in payloads(data):
                    self.add("reply", capabilities + payload)
                    self.add("rows", capabilities + b"\x02" + payload)
            elif key == "sent":
                self.add("reply", capabilities + data)
                if data[:1] in (b"\x03", b"\x16"):
                    self.add("sniff", data[1:])
                    self.add("policy", data[1:])
                if data[:1] == b"\x11":
                    self.add("client_login", capabilities + data[1:])
            elif key == "response":
                self.add("client_login", capabilities + data)
                self.add("client_login", capabilities + data[:32])
            else:
                self.add("server_login", capabilities + data)

    def lines(self, target):
        """Of many, some of each length."""
        inputs = sorted(self.inputs[target], key=lambda data: (len(data), data))
        step = max(1, len(inputs) / MOST)
        some = [inputs[int(n * step)] for n in range(min(MOST, len(inputs)))]
        return [data.hex() for data in dict.fromkeys([*self.kept.get(target, ()), *some])]


# what policies have to see through
STATEMENTS = (
    "SELECT * FROM t", "TABLE t", "WITH c AS (SELECT 1) DELETE FROM t", "/*!50000 DELETE FROM t */",
    "/*!99999 DELETE FROM t */", "PREPARE s FROM 'DELETE FROM t'", "EXECUTE IMMEDIATE CONCAT('a', 'b')",
    "SELECT 1; DROP TABLE shop.t", "SET STATEMENT max_statement_time = 1 FOR UPDATE t SET a = 1",
    "BEGIN NOT ATOMIC DELETE FROM t; END", "SELECT * FROM (a, b) WHERE EXISTS (SELECT * FROM c) LIMIT 1",
    "SELECT a FROM t UNION ALL TABLE t", "DELETE FROM t WHERE {fn NOW()} > x'41'", "UPDATE t SET a = b WHERE @a",
    "DELETE FROM t WHERE CONVERT('1', SIGNED) IN (SELECT 1 FROM dual)", "SELECT `shop`.`t`.* FROM shop . t",
    "INSERT INTO u TABLE t", "SELECT 'it''s', \"a\\\"b\" -- c\n# d\n, 0x1f, 1e5 FROM t", "CALL p(@a, ?)",
    "SELECT '\udcbf\\' ; DELETE FROM t -- '",
)
V4 = bytes([10, 1, 2, 3, 10, 0, 0, 5, 0x12, 0x34, 0x0C, 0xEA])


def v2(command, family, body):
    return b"\r\n\r\n\0\r\nQUIT\n" + bytes([command, family]) + len(body).to_bytes(2, "big") + body


HEADERS = (
    b"PROXY TCP4 10.1.2.3 10.0.0.5 4660 3306\r\n", b"PROXY TCP6 2001:db8::7 ::1 4660 3306\r\nrest", b"PROXY UNKNOWN\r\n",
    v2(0x20, 0, b""), v2(0x21, 0x11, V4), v2(0x21, 0x21, bytes(32) + b"\x12\x34\x0c\xea"), v2(0x21, 0x31, bytes(216)),
    v2(0x21, 0x11, V4 + b"\x04\0\x02xx\xe0\0\0"), v2(0x21, 0x11, V4 + b"\x03\0\x04abcd"), v2(0x21, 0, b"xyz"),
)


def collect():
    seeds = Seeds()
    for capture in sorted((SOURCE / "wire/testdata").glob("*.txt")):
        for text in capture.read_text().strip().split("\n\n"):
            if not text.startswith("#"):
                seeds.block(text.splitlines())
    for text in STATEMENTS:
        for target in ("sniff", "policy", "plan"):
            seeds.add(target, text.encode(errors="surrogateescape"), keep=True)
    for golden in sorted((SOURCE / "plan/testdata").glob("*.sql")):
        for line in golden.read_text().splitlines():
            if re.match(r"[A-Z(]", line):
                seeds.add("plan", line.rstrip(";").encode())
    for header in HEADERS:
        seeds.add("proxy_header", header, keep=True)
    return seeds


def write_seeds():
    seeds = collect()
    (HERE / "seeds").mkdir(exist_ok=True)
    for target in seeds.inputs:
        (HERE / f"seeds/{target}.txt").write_text("\n".join(seeds.lines(target)) + "\n")


def write_corpus():
    for path in sorted((HERE / "seeds").glob("*.txt")):
        folder = HERE / "corpus" / path.stem
        folder.mkdir(parents=True, exist_ok=True)
        for line in path.read_text().split():
            data = bytes.fromhex(line)
            (folder / hashlib.sha1(data).hexdigest()[:16]).write_bytes(data)


if sys.argv[1:] == ["--corpus"]:
    write_corpus()
else:
    write_seeds()
