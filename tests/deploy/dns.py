#!/usr/bin/env python3
"""A DNS server for tests: dns.py ADDRESS ZONE answers A queries from a JSON file {name: [ip, …]}, read at each query."""
import json
import socket
import struct
import sys


def answer(query, zone):
    labels, at = [], 12
    while query[at]:
        labels.append(query[at + 1:at + 1 + query[at]].decode("ascii", "replace"))
        at += query[at] + 1
    kind, = struct.unpack("!H", query[at + 1:at + 3])
    question = query[12:at + 5]
    ips = zone.get(".".join(labels).lower())
    found = ips if ips and kind == 1 else []
    flags = 0x8580 | (0 if ips is not None else 3)  # authoritative; 3: no such name
    records = b"".join(b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 1, 4) + socket.inet_aton(ip) for ip in found)
    return query[:2] + struct.pack("!HHHHH", flags, 1, len(found), 0, 0) + question + records


def main():
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((sys.argv[1], 53))
    print("ready", flush=True)
    while True:
        query, peer = server.recvfrom(4096)
        with open(sys.argv[2]) as f:
            zone = json.load(f)
        try:
            server.sendto(answer(query, zone), peer)
        except (IndexError, struct.error):
            pass


if __name__ == "__main__":
    main()
