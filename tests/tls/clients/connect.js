const fs = require('fs');
const mysql = require('mysql2/promise');
const [port, ca] = process.argv.slice(2);

async function main() {
  for (const version of ['TLSv1.2', 'TLSv1.3']) {
    const ssl = { ca: fs.readFileSync(ca), rejectUnauthorized: true, verifyIdentity: true, minVersion: version, maxVersion: version };
    const connection = await mysql.createConnection({ host: 'localhost', port: Number(port), user: 'app', password: 'apppw', ssl });
    const [rows] = await connection.execute("SELECT REPEAT('z', ?) z", [100000]);
    console.log(connection.connection.stream.getProtocol ? connection.connection.stream.getProtocol() : version, rows[0].z.length);
    await connection.end();
  }
}
main().catch((error) => { console.log(String(error)); process.exit(1); });
