// The scripted work through node's drivers: work.js mysql|mysql2|mariadb
'use strict';
const fs = require('fs');
const crypto = require('crypto');
const which = process.argv[2];
const E = process.env;
const library = require(which === 'mysql2' ? 'mysql2/promise' : which);
const version = JSON.parse(fs.readFileSync(`${E.NODE_PATH}/${which}/package.json`)).version;

function shown(value) {
  if (value === null) return 'null';
  if (Buffer.isBuffer(value)) return value.length > 500 ? `Buffer[${value.length}]${md5(value)}` : `Buffer:${value.toString('hex')}`;
  if (value instanceof Date) return `Date:${isNaN(value) ? 'invalid' : value.toISOString()}`;
  if (Array.isArray(value)) return `[${value.map(shown).join(', ')}]`;
  if (typeof value === 'string' && value.length > 500) return `string[${value.length}]${md5(value)}`;
  if (typeof value === 'bigint') return `bigint:${value}`;
  if (typeof value === 'object') return `{${Object.entries(value).filter(([k]) => k !== 'meta').map(([k, v]) => `${k}: ${shown(inOrder(k, v))}`).join(', ')}}`;
  return `${typeof value}:${typeof value === 'string' ? JSON.stringify(value) : String(value)}`;
}
// a server reports the variables that a statement changed in the order of its hash table, which the connection's list decides
const inOrder = (key, value) => (key === 'systemVariables' && value ? Object.fromEntries(Object.entries(value).sort()) : value);
const md5 = (data) => crypto.createHash('md5').update(data).digest('hex');
const out = (label, ...values) => process.stdout.write(`${label} ${values.map(shown).join(' ')}\n`);
const error = (label, e) => process.stdout.write(`${label} error ${e.errno} ${e.sqlState} ${e.code} ${text(e)}\n`);
// what the server says, without what the drivers put around it (connection ids, the statement)
const text = (e) => String(e.sqlMessage || e.message).split('\n')[0].replace(/\(conn[=:]? ?-?\d+[^)]*\) ?/, '');

const settings = (more = {}) => ({
  host: E.DB_HOST, port: Number(E.DB_PORT), user: E.DB_USER, password: E.DB_PASSWORD, database: E.DB_NAME,
  charset: which === 'mariadb' ? undefined : 'utf8mb4', multipleStatements: true, connectTimeout: 30000, ...more,
  ...(which === 'mariadb' ? { permitLocalInfile: true, checkNumberRange: false, bigIntAsNumber: false } : { supportBigNumbers: true, bigNumberStrings: true }),
  ...(which === 'mysql2' ? { infileStreamFactory: (path) => fs.createReadStream(path) } : {}),
});

// one shape for the three: query(sql, values) → [rows, fields], as promises
async function connect(more) {
  if (which === 'mysql2') return wrap2(await library.createConnection(settings(more)));
  if (which === 'mariadb') return wrapMaria(await library.createConnection(settings(more)));
  const raw = library.createConnection(settings(more));
  await new Promise((ok, bad) => raw.connect((e) => (e ? bad(e) : ok())));
  return wrap1(raw);
}
const fields1 = (fields) => (fields || []).map((f) => f && (Array.isArray(f) ? fields1(f) : [f.name, f.type ?? f.columnType, f.length ?? f.columnLength, f.flags, f.decimals, f.table, f.db || f.schema]));
const promised = (call) => new Promise((ok, bad) => call((e, rows, fields) => (e ? bad(e) : ok([rows, fields]))));
const wrap1 = (raw) => ({
  raw, id: raw.threadId,
  query: (sql, values) => promised((done) => raw.query(sql, values, done)),
  begin: () => promised((done) => raw.beginTransaction(done)),
  commit: () => promised((done) => raw.commit(done)),
  rollback: () => promised((done) => raw.rollback(done)),
  ping: () => promised((done) => raw.ping(done)),
  changeUser: (o) => promised((done) => raw.changeUser(o, done)),
  end: () => new Promise((done) => raw.end(done)),
});
const wrap2 = (raw) => ({
  raw, id: raw.threadId,
  query: (sql, values) => raw.query(sql, values), execute: (sql, values) => raw.execute(sql, values),
  begin: () => raw.beginTransaction(), commit: () => raw.commit(), rollback: () => raw.rollback(), ping: () => raw.ping(),
  changeUser: (o) => raw.changeUser(o), reset: () => raw.connection.reset && new Promise((ok, bad) => raw.connection.reset((e) => (e ? bad(e) : ok()))), end: () => raw.end(),
});
const wrapMaria = (raw) => ({
  raw, id: raw.threadId,
  query: async (sql, values) => { const r = await raw.query({ sql, metaAsArray: false }, values); return [r, r && r.meta]; },
  execute: async (sql, values) => { const r = await raw.execute(sql, values); return [r, r && r.meta]; },
  batch: (sql, rows) => raw.batch(sql, rows),
  begin: () => raw.beginTransaction(), commit: () => raw.commit(), rollback: () => raw.rollback(), ping: () => raw.ping(),
  changeUser: (o) => raw.changeUser(o), reset: () => raw.reset(), end: () => raw.end(),
});
const fieldList = (fields) => (typeof fields === 'function' || !fields ? [] : which === 'mariadb' ? Array.from(fields).map((f) => [f.name && f.name(), f.type, f.columnLength, f.flags, f.scale, f.table && f.table(), f.db && f.db()]) : fields1(fields));

async function run(c, sql, values, label = sql, how = 'query') {
  try {
    const [rows, fields] = await c[how](sql, values);
    const list = fieldList(fields);
    if (list.length) out(`${label} fields`, list);
    for (const row of Array.isArray(rows) ? rows : [rows]) out(`${label} row`, row);
  } catch (e) {
    error(label, e);
  }
}

const lines = [];
let wake = null;
process.stdin.on('data', () => { lines.push(1); if (wake) wake(); });
async function sync() {
  process.stdout.write('##sync\n');
  while (!lines.length) await new Promise((ok) => { wake = ok; });
  lines.pop();
}

async function statements(c) {
  for (const line of fs.readFileSync(E.WORK, 'utf8').split('\n')) {
    if (line === '##sync') await sync();
    else if (line && !line.startsWith('#')) await run(c, line);
  }
}

async function values(c) {
  const list = [1, -1.5, 2n ** 63n, 'text 😀 \\ \' "', Buffer.from([0, 255, 39, 92]), null, true, new Date(Date.UTC(2024, 1, 29, 1, 2, 3, 456))];
  for (const v of list) await run(c, 'SELECT ? AS v', [typeof v === 'bigint' && which !== 'mariadb' ? v.toString() : v], `value ${shown(v)}`);
  const rows = Array.from({ length: 300 }, (_, n) => [`batch ${n} 😀`, n]);
  if (c.batch) out('batch', await c.batch('INSERT INTO items (name, n) VALUES (?, ?)', rows));
  else await run(c, 'INSERT INTO items (name, n) VALUES ?', [rows], 'batch');
  await run(c, 'SELECT COUNT(*), SUM(n) FROM items');
  await run(c, "DELETE FROM items WHERE name LIKE 'batch%'");
}

async function prepared(c) {
  if (!c.execute) return;
  for (const v of [5, 'five', null, 5.5, Buffer.from([0, 1]), new Date(Date.UTC(2024, 1, 29, 1, 2, 3))]) {
    await run(c, 'SELECT ? AS v, id FROM types WHERE id < 3 ORDER BY id', [v], `prepared ${shown(v)}`, 'execute');
  }
  for (const id of [1, 2, 3]) await run(c, 'SELECT * FROM types WHERE id = ?', [id], `prepared types ${id}`, 'execute');
  await run(c, 'INSERT INTO items (name, n) VALUES (?, ?)', ['prepared', 1], 'prepared insert', 'execute');
  await run(c, 'INSERT INTO items (name, n) VALUES (?, ?)', ['prepared', 1], 'prepared insert again', 'execute');
  await run(c, 'DELETE FROM items WHERE name = ?', ['prepared'], 'prepared delete', 'execute');
  await run(c, 'SELECT nowhere', [], 'prepared error', 'execute');
}

async function big(c) {
  const data = Buffer.alloc((17 << 20) + 5, 'abcdefg');
  await run(c, 'INSERT INTO big VALUES (1, ?)', [data], 'big insert');
  const [rows] = await c.query('SELECT data, MD5(data) AS m FROM big');
  out('big', rows[0].data.equals(data), rows[0].m);
}

async function streaming(c) {
  const sql = "SELECT n, square, REPEAT('x', 500) AS x FROM numbers ORDER BY n";
  let total = 0;
  const raw = which === 'mysql2' ? c.raw.connection : c.raw;
  const stream = which === 'mariadb' ? raw.queryStream(sql) : raw.query(sql).stream();
  const add = (row) => { total += row.n + Number(row.square) + row.x.length; };
  await new Promise((ok, bad) => stream.on('data', add).on('end', ok).on('error', bad));
  out('streamed', total);
  await run(c, "SELECT 'after streaming'");
}

async function transactions(c) {
  const other = await connect();
  await c.begin();
  await run(c, 'UPDATE locked SET n = 10 WHERE id = 1');
  await run(other, 'SET innodb_lock_wait_timeout = 1');
  await run(other, 'UPDATE locked SET n = 11 WHERE id = 1', [], 'waits');
  await c.rollback();
  await c.begin();
  await run(c, 'UPDATE locked SET n = 12 WHERE id = 1');
  await c.commit();
  await run(other, 'SELECT n FROM locked WHERE id = 1', [], 'committed');
  await run(other, 'SET innodb_lock_wait_timeout = 50');
  await deadlock(c, other);
  const sleeper = run(other, 'SELECT SLEEP(25) FROM numbers', [], 'killed query').then(() => true);
  while (!(await Promise.race([sleeper, new Promise((ok) => setTimeout(ok, 200))]))) await c.query(`KILL QUERY ${other.id}`);
  await run(other, "SELECT 'alive'");
  const [own] = await c.query('SELECT CONNECTION_ID() AS id');
  out('own id', Number(own[0].id) === c.id);
  await run(c, 'KILL 4000000000', [], 'kill nobody');
  other.raw.on('error', () => {});
  await c.query(`KILL ${other.id}`);
  try {
    for (let i = 0; i < 100; i++) await other.query('SELECT SLEEP(0.1)');
    out('killed', 'alive');
  } catch (e) {
    out('killed', 'gone');
  }
}

async function deadlock(one, two) {
  let arrived = 0, go;
  const both = new Promise((ok) => { go = ok; });
  const side = async (c, order) => {
    for (let attempt = 0; attempt < 3; attempt++) {
      try {
        await c.begin();
        await c.query('UPDATE locked SET n = n + 1 WHERE id = ?', [order[0]]);
        if (attempt === 0 && ++arrived === 2) go();
        await both;
        await c.query('UPDATE locked SET n = n + 1 WHERE id = ?', [order[1]]);
        return await c.commit();
      } catch (e) {
        error('deadlock', e);
        await c.rollback();
      }
    }
  };
  await Promise.all([side(one, [2, 3]), side(two, [3, 2])]);
  await run(one, 'SELECT * FROM locked ORDER BY id', [], 'after the deadlock');
}

async function sessions(c) {
  await c.ping();
  await run(c, "SET @mine = 1, time_zone = '+01:00'");
  if (c.reset && which === 'mariadb') {
    await c.reset();
    await run(c, 'SELECT @mine, @@time_zone, DATABASE()', [], 'after the reset');
  }
  await c.changeUser({ user: E.DB_USER2, password: E.DB_PASSWORD2, database: E.DB_NAME });
  await run(c, 'SELECT CURRENT_USER(), @mine, DATABASE()', [], 'after the change');
  for (const change of [{ password: 'wrong' }, { user: 'nobody_here' }, { database: 'no_such_database' }]) {
    try {
      await (await connect(change)).end();
      out('login', 'accepted');
    } catch (e) {
      error('login', e);
    }
  }
}

async function pooled() {
  const pool = library.createPool(settings({ connectionLimit: 4 }));
  const ask = async (n) => {
    if (which === 'mysql') return (await promised((done) => pool.query('SELECT ? + n AS v FROM numbers WHERE n = ?', [n, n], done)))[0][0].v;
    const found = await pool[which === 'mysql2' ? 'execute' : 'query']('SELECT ? + n AS v FROM numbers WHERE n = ?', [n, n]);
    return (which === 'mysql2' ? found[0] : found)[0].v;
  };
  out('pool', await Promise.all(Array.from({ length: 30 }, (_, n) => ask(n))));
  await (which === 'mysql' ? new Promise((done) => pool.end(done)) : pool.end());
}

async function main() {
  process.stdout.write(`##version ${version}\n`);
  const c = await connect();
  await statements(c);
  await values(c);
  await prepared(c);
  await big(c);
  await streaming(c);
  for (const sql of ['CALL two_results()', 'CALL fails()', "SELECT 1; SELECT 2, 'b'; DO 1; SELECT 3", 'SELECT 1; SELECT nowhere; SELECT 3', "SELECT 'goes on'"]) await run(c, sql);
  if (which !== 'mysql2') await run(c, `LOAD DATA LOCAL INFILE '${E.LOAD}' INTO TABLE loaded FIELDS TERMINATED BY ','`, [], 'load');
  else await run(c, { sql: `LOAD DATA LOCAL INFILE '${E.LOAD}' INTO TABLE loaded FIELDS TERMINATED BY ','`, infileStreamFactory: (p) => fs.createReadStream(p) }, [], 'load');
  await run(c, 'SELECT * FROM loaded ORDER BY a');
  await transactions(c);
  await sessions(c);
  await pooled();
  await c.end();
  await sync();
  const again = await connect();
  await prepared(again);
  await streaming(again);
  await again.end();
  process.stdout.write('##end\n');
  process.exit(0);
}
main().catch((e) => { console.error(e); process.exit(1); });
