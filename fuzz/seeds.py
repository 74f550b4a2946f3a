#!/usr/bin/env python3
"""Writes the fuzz targets' first inputs from the captured exchanges of src/wire/testdata."""
import hashlib
import pathlib
import struct

HERE = pathlib.Path(__file__).resolve().parent
CAPTURES = sorted((HERE.parent / "src/wire/testdata").glob("*.txt"))


def write(target, data):
    folder = HERE / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / hashlib.sha1(data).hexdigest()[:16]).write_bytes(data)


def payloads(reply):
    while len(reply) >= 4:
        end = 4 + int.from_bytes(reply[:3], "little")
        yield reply[4:end]
        reply = reply[end:]


def block(lines):
    fields = dict(word.split("=") for word in lines[0].split() if "=" in word)
    capabilities = struct.pack("<Q", int(fields.get("caps", "0"), 16))
    for line in lines[1:]:
        key, _, value = line.partition(" ")
        data = bytes.fromhex(value)
        if key == "reply":
            write("frame", b"\x07" + data)
            write("tracker", bytes([int(fields["command"], 16), 3]) + capabilities + data)
            for payload in payloads(data):
                write("reply", capabilities + payload)
        elif key == "sent":
            write("reply", capabilities + data)
            if data[:1] in (b"\x03", b"\x16"):
                write("sniff", data[1:])
                write("policy", data[1:])
            if data[:1] == b"\x11":
                write("handshake", capabilities + data[1:])
        else:
            write("handshake", capabilities + data)


# what policies have to see through
for text in (
    "SELECT * FROM t", "TABLE t", "WITH c AS (SELECT 1) DELETE FROM t", "/*!50000 DELETE FROM t */",
    "PREPARE s FROM 'DELETE FROM t'", "EXECUTE IMMEDIATE CONCAT('a', 'b')", "SELECT 1; DROP TABLE shop.t",
    "SET STATEMENT max_statement_time = 1 FOR UPDATE t SET a = 1", "BEGIN NOT ATOMIC DELETE FROM t; END",
    "SELECT * FROM (a, b) WHERE EXISTS (SELECT * FROM c) LIMIT 1",
):
    write("policy", text.encode())

for capture in CAPTURES:
    for text in capture.read_text().strip().split("\n\n"):
        if not text.startswith("#"):
            block(text.splitlines())
