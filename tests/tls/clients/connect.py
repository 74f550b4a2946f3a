import ssl
import sys

import pymysql

port, ca = int(sys.argv[1]), sys.argv[2]
context = ssl.create_default_context(cafile=ca)
for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
    context.minimum_version = context.maximum_version = version
    connection = pymysql.connect(host="localhost", port=port, user="app", password="apppw", ssl=context)
    with connection.cursor() as cursor:
        cursor.execute("SELECT REPEAT('z', 100000)")
        print(connection._sock.version(), len(cursor.fetchone()[0]))
    connection.close()
