// The scripted work through MariaDB Connector/J: Work [server-prepared]
import java.io.*;
import java.math.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.sql.*;
import java.util.*;
import java.util.concurrent.*;

public class Work {
    static final Map<String, String> E = System.getenv();
    static final PrintStream OUT = new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
    static final BufferedReader IN = new BufferedReader(new InputStreamReader(System.in));
    static String options;

    static Connection connect(String user, String password, String database, String more) throws SQLException {
        String url = "jdbc:mariadb://" + E.get("DB_HOST") + ":" + E.get("DB_PORT") + "/" + database
            + "?sessionVariables=time_zone='%2B03:00'&allowLocalInfile=true&allowMultiQueries=true&dumpQueriesOnException=false" + options + more;
        return DriverManager.getConnection(url.replace("%2B", "+"), user, password);
    }

    static Connection connect() throws SQLException {
        return connect(E.get("DB_USER"), E.get("DB_PASSWORD"), E.get("DB_NAME"), "");
    }

    static void out(String label, Object... values) {
        StringBuilder text = new StringBuilder(label);
        for (Object value : values) text.append(' ').append(shown(value));
        OUT.println(text);
    }

    static String shown(Object value) {
        if (value == null) return "null";
        if (value instanceof byte[]) {
            byte[] bytes = (byte[]) value;
            return bytes.length > 500 ? "byte[" + bytes.length + "]" + Arrays.hashCode(bytes) : "byte:" + new BigInteger(1, bytes).toString(16);
        }
        String text = value.toString();
        if (text.length() > 500) text = "[" + text.length() + "]" + text.hashCode();
        return value.getClass().getSimpleName() + ":" + text;
    }

    static void sync() throws IOException {
        OUT.println("##sync");
        IN.readLine();
    }

    static void error(String label, SQLException e) {
        String text = e.getMessage().split("\n")[0].replaceAll("\\(conn=\\d+\\) ", "");
        out(label + " error", e.getErrorCode(), e.getSQLState(), e.getClass().getSimpleName(), text);
    }

    static void rows(String label, ResultSet r) throws SQLException {
        ResultSetMetaData m = r.getMetaData();
        for (int i = 1; i <= m.getColumnCount(); i++) {
            out(label + " column", m.getColumnLabel(i), m.getColumnName(i), m.getTableName(i), m.getColumnTypeName(i), m.getColumnType(i),
                m.getPrecision(i), m.getScale(i), m.isNullable(i), m.isSigned(i), m.isAutoIncrement(i), m.getColumnClassName(i));
        }
        while (r.next()) {
            Object[] row = new Object[m.getColumnCount()];
            for (int i = 0; i < row.length; i++) {
                try {
                    row[i] = r.getObject(i + 1);
                } catch (SQLException | RuntimeException e) {
                    row[i] = "cannot be read: " + e.getClass().getSimpleName();
                }
            }
            out(label + " row", row);
        }
        r.close();
    }

    static void results(String label, Statement s, boolean isRows) throws SQLException {
        for (int n = 0; n < 20; n++) {
            if (isRows) rows(label, s.getResultSet());
            else if (s.getUpdateCount() < 0) break;
            else out(label + " count", s.getUpdateCount());
            isRows = s.getMoreResults();
        }
        for (SQLWarning w = s.getWarnings(); w != null; w = w.getNextWarning()) out(label + " warning", w.getErrorCode(), w.getSQLState(), w.getMessage());
    }

    static void run(Connection c, String sql, String label) {
        try (Statement s = c.createStatement()) {
            boolean keys = sql.startsWith("INSERT") || sql.startsWith("REPLACE");
            boolean isRows = keys ? s.execute(sql, Statement.RETURN_GENERATED_KEYS) : s.execute(sql);
            if (keys) rows(label + " keys", s.getGeneratedKeys());
            results(label, s, isRows);
        } catch (SQLException e) {
            error(label, e);
        }
    }

    static void run(Connection c, String sql) {
        run(c, sql, sql);
    }

    static void statements(Connection c) throws IOException {
        for (String line : Files.readAllLines(Path.of(E.get("WORK")))) {
            if (line.equals("##sync")) sync();
            else if (!line.isEmpty() && !line.startsWith("#")) run(c, line);
        }
    }

    static void prepared(Connection c) throws SQLException {
        // no bytes: the server tells one type when it prepares and sends another, which the driver reads as garbage
        Object[] values = { 5, "five 😀", null, 5.5, new BigDecimal("1.25"), Long.MIN_VALUE, true,
            Timestamp.valueOf("2024-02-29 01:02:03.004567"), java.sql.Date.valueOf("2024-02-29"), java.sql.Time.valueOf("01:02:03") };
        try (PreparedStatement s = c.prepareStatement("SELECT ? AS v, id FROM types WHERE id < 3 ORDER BY id")) {
            for (Object value : values) {
                s.setObject(1, value);
                rows("prepared " + shown(value), s.executeQuery());
            }
        }
        try (PreparedStatement s = c.prepareStatement("SELECT * FROM types WHERE id = ?")) {
            for (int id = 1; id < 4; id++) {
                s.setInt(1, id);
                rows("prepared types " + id, s.executeQuery());
            }
        }
    }

    static void batches(Connection c) throws SQLException {
        try (PreparedStatement s = c.prepareStatement("INSERT INTO items (name, n) VALUES (?, ?)", Statement.RETURN_GENERATED_KEYS)) {
            for (int n = 0; n < 100; n++) {
                s.setString(1, "batch " + n + " 😀");
                s.setInt(2, n);
                s.addBatch();
            }
            out("batch", Arrays.toString(s.executeBatch()));
            rows("batch keys", s.getGeneratedKeys());
            s.setString(1, "new");
            s.setInt(2, 1);
            s.addBatch();
            s.setString(1, "batch 5 😀");
            s.addBatch();
            s.executeBatch();
        } catch (BatchUpdateException e) {
            out("batch", Arrays.toString(e.getUpdateCounts()));
            error("batch", e);
        }
        try (Statement s = c.createStatement()) {
            s.addBatch("UPDATE items SET n = n + 1 WHERE name LIKE 'batch 1%'");
            s.addBatch("DELETE FROM items WHERE name LIKE 'batch%'");
            out("batch of statements", Arrays.toString(s.executeBatch()));
        }
        byte[] data = new byte[(17 << 20) + 5];
        for (int i = 0; i < data.length; i++) data[i] = (byte) (i * 31 >> 3);
        try (PreparedStatement s = c.prepareStatement("INSERT INTO big VALUES (1, ?)")) {
            s.setBinaryStream(1, new ByteArrayInputStream(data), data.length);
            out("big insert", s.executeUpdate());
        }
        try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("SELECT data FROM big")) {
            r.next();
            out("big", Arrays.equals(data, r.getBytes(1)));
        }
    }

    static void streaming(Connection c) throws SQLException {
        try (Statement s = c.createStatement(ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_READ_ONLY)) {
            s.setFetchSize(50);
            long sum = 0;
            try (ResultSet r = s.executeQuery("SELECT n, square, REPEAT('x', 500) FROM numbers ORDER BY n")) {
                while (r.next()) sum += r.getInt(1) + r.getLong(2) + r.getString(3).length();
            }
            out("streamed", sum);
        }
        run(c, "SELECT 'after streaming'");
    }

    static void calls(Connection c) throws SQLException {
        run(c, "CALL two_results()");
        run(c, "CALL fails()");
        try (CallableStatement s = c.prepareCall("{call in_out(?, ?, ?)}")) {
            s.setInt(1, 4);
            s.setInt(2, 3);
            s.registerOutParameter(2, Types.INTEGER);
            s.registerOutParameter(3, Types.VARCHAR);
            results("call", s, s.execute());
            out("call out", s.getInt(2), s.getString(3));
        }
        run(c, "SELECT 1; SELECT 2, 'b'; DO 1; SELECT 3");
        run(c, "SELECT 1; SELECT nowhere; SELECT 3");
        run(c, "SELECT 'goes on'");
        run(c, "LOAD DATA LOCAL INFILE '" + E.get("LOAD") + "' INTO TABLE loaded FIELDS TERMINATED BY ','", "load");
        run(c, "SELECT * FROM loaded ORDER BY a");
    }

    static void transactions(Connection c) throws Exception {
        Connection other = connect();
        c.setAutoCommit(false);
        c.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
        run(c, "UPDATE locked SET n = 10 WHERE id = 1");
        Savepoint point = c.setSavepoint("one");
        run(c, "UPDATE locked SET n = 20 WHERE id = 2");
        c.rollback(point);
        run(other, "SET innodb_lock_wait_timeout = 1");
        run(other, "UPDATE locked SET n = 11 WHERE id = 1", "waits");
        c.commit();
        run(other, "SELECT * FROM locked ORDER BY id", "committed");
        run(c, "UPDATE locked SET n = 99");
        c.rollback();
        c.setAutoCommit(true);
        run(c, "SELECT * FROM locked ORDER BY id", "rolled back");
        c.setReadOnly(true);
        run(c, "SELECT n FROM numbers WHERE n = 3", "read only");
        c.setReadOnly(false);
        c.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
        out("isolation", c.getTransactionIsolation(), c.getCatalog());
        deadlock(c, other);
        Statement sleeper = other.createStatement();
        Thread thread = new Thread(() -> {
            try {
                sleeper.executeQuery("SELECT SLEEP(25) FROM numbers");
                out("cancelled", "no error");
            } catch (SQLException e) {
                error("cancelled", e);
            }
        });
        thread.start();
        while (thread.isAlive()) {
            sleeper.cancel();
            thread.join(200);
        }
        run(other, "SELECT 'alive'");
        try (Statement s = other.createStatement()) {
            s.setQueryTimeout(1);
            s.executeQuery("SELECT SLEEP(25) FROM numbers");
        } catch (SQLException e) {
            error("timed out", e);
        }
        other.close();
    }

    static void deadlock(Connection one, Connection two) throws Exception {
        CyclicBarrier barrier = new CyclicBarrier(2);
        run(two, "SET innodb_lock_wait_timeout = 50");
        Thread a = new Thread(() -> side(one, barrier, 2, 3)), b = new Thread(() -> side(two, barrier, 3, 2));
        a.start();
        b.start();
        a.join();
        b.join();
        run(one, "SELECT * FROM locked ORDER BY id", "after the deadlock");
    }

    static void side(Connection c, CyclicBarrier barrier, int first, int second) {
        for (int attempt = 0; attempt < 3; attempt++) {
            try (PreparedStatement s = c.prepareStatement("UPDATE locked SET n = n + 1 WHERE id = ?")) {
                c.setAutoCommit(false);
                s.setInt(1, first);
                s.executeUpdate();
                if (attempt == 0) barrier.await(60, TimeUnit.SECONDS);
                s.setInt(1, second);
                s.executeUpdate();
                c.commit();
                c.setAutoCommit(true);
                return;
            } catch (SQLException e) {
                error("deadlock", e);
                try {
                    c.rollback();
                } catch (SQLException again) {
                    error("deadlock rollback", again);
                }
            } catch (Exception e) {
                out("deadlock", e.toString());
            }
        }
    }

    static void metadata(Connection c) throws SQLException {
        DatabaseMetaData m = c.getMetaData();
        String db = E.get("DB_NAME");
        rows("tables", m.getTables(db, null, "%", new String[] { "TABLE", "VIEW" }));
        rows("columns", m.getColumns(db, null, "types", "%"));
        rows("keys", m.getPrimaryKeys(db, null, "items"));
        try (ResultSet r = m.getIndexInfo(db, null, "items", false, false)) {
            // the cardinality is an estimate
            while (r.next()) out("index", r.getString("INDEX_NAME"), r.getString("COLUMN_NAME"), r.getBoolean("NON_UNIQUE"), r.getShort("TYPE"));
        }
        rows("procedures", m.getProcedureColumns(db, null, "in_out", "%"));
        out("valid", c.isValid(5), m.supportsSavepoints(), m.getDatabaseProductVersion().split("-")[0]);
    }

    static void logins() {
        String[][] changes = { { E.get("DB_USER"), "wrong", E.get("DB_NAME") }, { "nobody_here", "x", E.get("DB_NAME") }, { E.get("DB_USER"), E.get("DB_PASSWORD"), "no_such_database" } };
        for (String[] change : changes) {
            try (Connection c = connect(change[0], change[1], change[2], "")) {
                out("login", "accepted");
            } catch (SQLException e) {
                out("login", e.getErrorCode(), e.getSQLState());
            }
        }
    }

    static void foundRows() throws SQLException {
        for (String value : List.of("true", "false")) {
            try (Connection c = connect(E.get("DB_USER"), E.get("DB_PASSWORD"), E.get("DB_NAME"), "&useAffectedRows=" + value)) {
                run(c, "UPDATE locked SET n = n", "affected rows " + value);
            }
        }
    }

    public static void main(String[] words) throws Exception {
        options = words.length > 0 ? "&useServerPrepStmts=true&cachePrepStmts=true" : "";
        try (Connection c = connect()) {
            OUT.println("##version " + c.getMetaData().getDriverVersion());
            statements(c);
            prepared(c);
            batches(c);
            streaming(c);
            calls(c);
            transactions(c);
            metadata(c);
            foundRows();
            logins();
        }
        sync();
        try (Connection c = connect()) {
            prepared(c);
            streaming(c);
            c.setReadOnly(true);
            metadata(c);
        }
        OUT.println("##end");
        System.exit(0);
    }
}
