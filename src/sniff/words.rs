//! The one table of SQL words: what a word means as a keyword, which statement it starts, and what
//! a call of it does. Looked up by a hash made when the program is compiled.
//!
//! The built-in functions are those of MySQL 5.7 to 9 and MariaDB 10.5 to 11.8, from both servers'
//! function references. A function that is not here may have been stored by the user.

use super::types::{Access, Effects, Verb};

/// Words that some rule reacts to; all others are `Plain`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[rustfmt::skip]
pub(super) enum Word {
    /// Not in the table: the name of something.
    Name,
    Plain,
    // statements
    Select, With, Table, Values, Explain, Insert, Replace, Update, Delete, Call, Set, Show, Use,
    Begin, Start, Commit, Rollback, Lock, Unlock, Flush, Xa, Prepare, Execute, Create, Alter, Drop,
    Load, Get, Kill, Handler, Backup, Analyze,
    /// Verbs that are reserved and have no place inside a query.
    Foreign,
    /// Starts a compound statement of MariaDB outside of a stored program.
    Compound,
    // parts of queries
    For, Share, Into, Outfile, Procedure, CalcFoundRows, Next, Previous, Value, As, Character,
    // SHOW
    Full, Extended, Tables, Columns, Schemas, Index, Keys, Triggers, Collation, Engines, Status,
    Warnings, Count, Function, Package, View, Sequence, Event, Trigger, Storage, Database,
    // SET
    Global, Session, Persist, Statement, Transaction, Names, Password, Role, Default, Resource,
    // transactions and locks
    Work, To, And, No, Not, Chain, Read, Only, Temporary, Definer, Instance, Stage, Export, Local,
    Open, Diagnostics, Or, Immediate, End, Case, If, Loop, User,
    // EXPLAIN
    Format, Connection, Partitions, Query, Hard, Soft,
    // schemas
    InformationSchema, ServerSchema,
}

/// What `word(` does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    /// The parenthesis belongs to a clause, or the function is built in and only reads.
    Pure,
    /// Stored by the user, or loadable.
    Unknown,
    Touches(Access, Effects),
}

#[derive(Debug)]
pub(super) struct Entry {
    pub name: &'static str,
    pub word: Word,
    pub verb: Verb,
    pub call: Call,
}

/// What is not in the table.
pub(super) static NAME: Entry = Entry {
    name: "",
    word: Word::Name,
    verb: Verb::Other,
    call: Call::Unknown,
};

/// The entry of a word in any case; [`NAME`] when there is none.
#[inline]
pub(super) fn find(word: &[u8]) -> &'static Entry {
    if word.is_empty() || word.len() > LONGEST {
        return &NAME;
    }
    let (mut at, tag) = hash(word);
    loop {
        let slot = &SLOTS[at];
        if slot.tag == tag {
            match TABLE.get(slot.entry as usize) {
                Some(entry) if is_same(entry.name.as_bytes(), word) => return entry,
                _ => {}
            }
        }
        if slot.entry == FREE {
            return &NAME;
        }
        at = (at + 1) % SLOTS.len();
    }
}

/// Whether the word is this name, whose letters are all upper case.
fn is_same(name: &[u8], word: &[u8]) -> bool {
    let differs = |n: u8, w: u8| (n ^ w) & !(u8::from(n.is_ascii_uppercase()) << 5) != 0;
    name.len() == word.len() && !name.iter().zip(word).any(|(&n, &w)| differs(n, w))
}

const LONGEST: usize = 34;
const FREE: u16 = u16::MAX;
const BITS: u32 = 12;

/// Place in the table, and more of the hash: other words that come to the same slot are told apart without
/// a look at the table.
#[derive(Clone, Copy)]
struct Slot {
    entry: u16,
    tag: u16,
}

static SLOTS: [Slot; 1 << BITS] = slots();

const fn slots() -> [Slot; 1 << BITS] {
    let free = Slot {
        entry: FREE,
        tag: 0,
    };
    let mut slots = [free; 1 << BITS];
    let mut i = 0;
    while i < TABLE.len() {
        let (mut at, tag) = hash(TABLE[i].name.as_bytes());
        while slots[at].entry != FREE {
            at = (at + 1) % slots.len();
        }
        let entry = i as u16;
        slots[at] = Slot { entry, tag };
        i += 1;
    }
    slots
}

/// Where the search for a word starts, and its tag; the word is not empty. Bit 5 makes letters lower case.
#[inline]
const fn hash(word: &[u8]) -> (usize, u16) {
    let n = word.len();
    let sample = [
        word[0] | 32,
        word[n / 3] | 32,
        word[n / 2] | 32,
        word[n - 1] | 32,
    ];
    let key = u32::from_le_bytes(sample) ^ (n as u32) << 8;
    let hash = (key as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((hash >> (64 - BITS)) as usize, (hash >> 32) as u16)
}

const fn verb(name: &'static str, word: Word, verb: Verb) -> Entry {
    Entry {
        name,
        word,
        verb,
        call: Call::Unknown,
    }
}

/// A reserved verb: before a parenthesis it is still the verb, or a built-in function.
const fn reserved(name: &'static str, word: Word, verb: Verb) -> Entry {
    Entry {
        name,
        word,
        verb,
        call: Call::Pure,
    }
}

const fn word(name: &'static str, word: Word) -> Entry {
    Entry {
        name,
        word,
        verb: Verb::Other,
        call: Call::Unknown,
    }
}

const fn clause(name: &'static str, word: Word) -> Entry {
    Entry {
        name,
        word,
        verb: Verb::Other,
        call: Call::Pure,
    }
}

const fn pure(name: &'static str) -> Entry {
    Entry {
        name,
        word: Word::Plain,
        verb: Verb::Other,
        call: Call::Pure,
    }
}

const fn touches(name: &'static str, access: Access, effects: Effects) -> Entry {
    Entry {
        name,
        word: Word::Plain,
        verb: Verb::Other,
        call: Call::Touches(access, effects),
    }
}

use Access::{Unsure, Write};
use Word as W;

#[rustfmt::skip]
pub(super) static TABLE: [Entry; 673] = [
    // statements
    reserved("SELECT", W::Select, Verb::Select), reserved("WITH", W::With, Verb::With),
    reserved("TABLE", W::Table, Verb::Table), reserved("VALUES", W::Values, Verb::Values),
    reserved("SHOW", W::Show, Verb::Show), reserved("DESCRIBE", W::Explain, Verb::Describe),
    reserved("DESC", W::Explain, Verb::Describe), reserved("EXPLAIN", W::Explain, Verb::Explain),
    verb("HELP", W::Plain, Verb::Help), reserved("INSERT", W::Insert, Verb::Insert),
    reserved("REPLACE", W::Replace, Verb::Replace), reserved("UPDATE", W::Update, Verb::Update),
    reserved("DELETE", W::Delete, Verb::Delete), reserved("TRUNCATE", W::Plain, Verb::Truncate),
    reserved("LOAD", W::Load, Verb::Load), reserved("CALL", W::Call, Verb::Call),
    reserved("DO", W::Plain, Verb::Do), verb("HANDLER", W::Handler, Verb::Handler),
    reserved("SET", W::Set, Verb::Set), reserved("USE", W::Use, Verb::Use),
    verb("BEGIN", W::Begin, Verb::Begin), verb("START", W::Start, Verb::Start),
    verb("COMMIT", W::Commit, Verb::Commit), verb("ROLLBACK", W::Rollback, Verb::Rollback),
    verb("SAVEPOINT", W::Plain, Verb::Savepoint), reserved("RELEASE", W::Foreign, Verb::Release),
    reserved("LOCK", W::Lock, Verb::Lock), reserved("UNLOCK", W::Unlock, Verb::Unlock),
    verb("FLUSH", W::Flush, Verb::Flush), verb("RESET", W::Plain, Verb::Reset),
    verb("XA", W::Xa, Verb::Xa), verb("PREPARE", W::Prepare, Verb::Prepare),
    verb("EXECUTE", W::Execute, Verb::Execute), verb("DEALLOCATE", W::Plain, Verb::Deallocate),
    reserved("CREATE", W::Create, Verb::Create), reserved("ALTER", W::Alter, Verb::Alter),
    reserved("DROP", W::Drop, Verb::Drop), reserved("RENAME", W::Foreign, Verb::Rename),
    reserved("GRANT", W::Foreign, Verb::Grant), reserved("REVOKE", W::Foreign, Verb::Revoke),
    reserved("ANALYZE", W::Analyze, Verb::Analyze), reserved("CHECK", W::Plain, Verb::Check),
    verb("CHECKSUM", W::Plain, Verb::Checksum), reserved("OPTIMIZE", W::Foreign, Verb::Optimize),
    verb("REPAIR", W::Plain, Verb::Repair), reserved("KILL", W::Kill, Verb::Kill),
    verb("GET", W::Get, Verb::Get), reserved("SIGNAL", W::Foreign, Verb::Signal),
    reserved("RESIGNAL", W::Foreign, Verb::Resignal), reserved("CHANGE", W::Foreign, Verb::Change),
    verb("STOP", W::Plain, Verb::Stop), reserved("PURGE", W::Foreign, Verb::Purge),
    verb("INSTALL", W::Plain, Verb::Install), verb("UNINSTALL", W::Plain, Verb::Uninstall),
    verb("SHUTDOWN", W::Plain, Verb::Shutdown), verb("BINLOG", W::Plain, Verb::Binlog),
    verb("CACHE", W::Plain, Verb::Cache), verb("IMPORT", W::Plain, Verb::Import),
    verb("CLONE", W::Plain, Verb::Clone), word("BACKUP", W::Backup),
    word("DECLARE", W::Compound), word("LOOP", W::Loop), word("WHILE", W::Loop), word("REPEAT", W::Loop),
    // parts of queries that a rule reacts to
    clause("FOR", W::For), word("SHARE", W::Share), clause("INTO", W::Into),
    clause("OUTFILE", W::Outfile), word("DUMPFILE", W::Outfile), clause("PROCEDURE", W::Procedure),
    clause("SQL_CALC_FOUND_ROWS", W::CalcFoundRows), word("NEXT", W::Next), word("PREVIOUS", W::Previous),
    clause("VALUE", W::Value), clause("AS", W::As), clause("CHARACTER", W::Character),
    clause("CHARSET", W::Character), clause("CHAR", W::Character), clause("CASE", W::Case),
    clause("IF", W::If), clause("END", W::End), clause("OR", W::Or), clause("AND", W::And),
    clause("NOT", W::Not), clause("TO", W::To), clause("NO", W::No),
    // other words that a statement family reads
    word("FULL", W::Full), word("EXTENDED", W::Extended), word("TABLES", W::Tables),
    clause("COLUMNS", W::Columns), word("FIELDS", W::Columns), word("DATABASES", W::Schemas),
    word("SCHEMAS", W::Schemas), clause("INDEX", W::Index), word("INDEXES", W::Index),
    clause("KEYS", W::Keys), word("TRIGGERS", W::Triggers), word("COLLATION", W::Collation),
    word("ENGINES", W::Engines), word("PRIVILEGES", W::Engines), word("STATUS", W::Status),
    word("WARNINGS", W::Warnings), word("ERRORS", W::Warnings), clause("COUNT", W::Count),
    word("FUNCTION", W::Function), word("PACKAGE", W::Package), word("VIEW", W::View),
    word("SEQUENCE", W::Sequence), word("EVENT", W::Event), clause("TRIGGER", W::Trigger),
    word("STORAGE", W::Storage), clause("DATABASE", W::Database), clause("SCHEMA", W::Database),
    word("GLOBAL", W::Global), word("SESSION", W::Session), word("LOCAL", W::Local),
    word("PERSIST", W::Persist), word("PERSIST_ONLY", W::Persist), word("STATEMENT", W::Statement),
    word("TRANSACTION", W::Transaction), word("NAMES", W::Names), clause("PASSWORD", W::Password),
    word("ROLE", W::Role), clause("DEFAULT", W::Default), word("RESOURCE", W::Resource),
    word("WORK", W::Work), word("CHAIN", W::Chain), clause("READ", W::Read), word("ONLY", W::Only),
    word("TEMPORARY", W::Temporary), word("DEFINER", W::Definer), word("INSTANCE", W::Instance),
    word("STAGE", W::Stage), word("EXPORT", W::Export), word("OPEN", W::Open),
    word("DIAGNOSTICS", W::Diagnostics), word("IMMEDIATE", W::Immediate), clause("USER", W::User),
    clause("FORMAT", W::Format), word("CONNECTION", W::Connection), word("PARTITIONS", W::Partitions),
    word("QUERY", W::Query), word("HARD", W::Hard), word("SOFT", W::Soft),
    word("INFORMATION_SCHEMA", W::InformationSchema), word("PERFORMANCE_SCHEMA", W::ServerSchema),
    word("SYS", W::ServerSchema), word("MYSQL", W::ServerSchema),
    // functions that lock, write, or answer from the session or the one server
    touches("LAST_INSERT_ID", Unsure, Effects::LAST_INSERT_ID), touches("FOUND_ROWS", Unsure, Effects::FOUND_ROWS),
    touches("ROW_COUNT", Unsure, Effects::ROW_COUNT), touches("CONNECTION_ID", Unsure, Effects::CONNECTION_ID),
    touches("GET_LOCK", Unsure, Effects::GET_LOCK), touches("RELEASE_LOCK", Unsure, Effects::RELEASES_LOCK),
    touches("RELEASE_ALL_LOCKS", Unsure, Effects::RELEASES_LOCK),
    // loadable functions of MySQL's locking service and version tokens, whose locks the session has until its end
    touches("SERVICE_GET_READ_LOCKS", Unsure, Effects::CALL), touches("SERVICE_GET_WRITE_LOCKS", Unsure, Effects::CALL),
    touches("VERSION_TOKENS_LOCK_SHARED", Unsure, Effects::CALL), touches("VERSION_TOKENS_LOCK_EXCLUSIVE", Unsure, Effects::CALL),
    touches("IS_FREE_LOCK", Unsure, Effects::SERVER_STATE), touches("IS_USED_LOCK", Unsure, Effects::SERVER_STATE),
    touches("NEXTVAL", Write, Effects::empty()), touches("SETVAL", Write, Effects::empty()),
    touches("LASTVAL", Unsure, Effects::SERVER_STATE), touches("LOAD_FILE", Unsure, Effects::SERVER_STATE),
    touches("MASTER_POS_WAIT", Unsure, Effects::SERVER_STATE), touches("SOURCE_POS_WAIT", Unsure, Effects::SERVER_STATE),
    touches("MASTER_GTID_WAIT", Unsure, Effects::SERVER_STATE), touches("BINLOG_GTID_POS", Unsure, Effects::SERVER_STATE),
    touches("WAIT_FOR_EXECUTED_GTID_SET", Unsure, Effects::SERVER_STATE),
    touches("WAIT_UNTIL_SQL_THREAD_AFTER_GTIDS", Unsure, Effects::SERVER_STATE),
    touches("PS_CURRENT_THREAD_ID", Unsure, Effects::SERVER_STATE), touches("PS_THREAD_ID", Unsure, Effects::SERVER_STATE),
    touches("CURRENT_ROLE", Unsure, Effects::SERVER_STATE), touches("ROLES_GRAPHML", Unsure, Effects::SERVER_STATE),
    // words that may stand before a parenthesis without a call
    pure("SQL_NO_CACHE"), pure("SQL_CACHE"), pure("SQL_SMALL_RESULT"), pure("SQL_BIG_RESULT"), pure("SQL_BUFFER_RESULT"),
    pure("HIGH_PRIORITY"), pure("ALL"), pure("ANY"), pure("SOME"), pure("XOR"), pure("IN"), pure("EXISTS"), pure("BETWEEN"), pure("LIKE"),
    pure("RLIKE"), pure("REGEXP"), pure("DIV"), pure("WHEN"), pure("THEN"), pure("ELSE"), pure("IS"), pure("ON"),
    pure("USING"), pure("WHERE"), pure("HAVING"), pure("BY"), pure("FROM"), pure("JOIN"), pure("STRAIGHT_JOIN"),
    pure("UNION"), pure("EXCEPT"), pure("MINUS"), pure("INTERSECT"), pure("DISTINCT"), pure("DISTINCTROW"),
    pure("LIMIT"), pure("OFFSET"), pure("OVER"), pure("PARTITION"), pure("KEY"), pure("AGAINST"),
    pure("ROW"), pure("ROWS"), pure("RANGE"), pure("GROUPS"), pure("LATERAL"), pure("BINARY"), pure("COLLATE"), pure("ESCAPE"),
    pure("SEPARATOR"), pure("RETURNING"), pure("OF"), pure("GROUP"), pure("ORDER"), pure("PRIMARY"), pure("UNIQUE"),
    pure("CUBE"), pure("GROUPING"), pure("ROLLUP"), pure("QUALIFY"), pure("LEADING"), pure("TRAILING"), pure("BOTH"),
    pure("INNER"), pure("NATURAL"), pure("CROSS"), pure("SOUNDS"), pure("MEMBER"), pure("NATIONAL"), pure("RECURSIVE"),
    pure("DECIMAL"), pure("DEC"), pure("NUMERIC"), pure("FIXED"), pure("VARCHAR"), pure("NCHAR"), pure("NVARCHAR"),
    pure("VARBINARY"), pure("FLOAT"), pure("DOUBLE"), pure("REAL"), pure("INT"), pure("INTEGER"), pure("BIGINT"),
    pure("SMALLINT"), pure("TINYINT"), pure("MEDIUMINT"), pure("BIT"), pure("BLOB"), pure("TEXT"), pure("SIGNED"),
    pure("UNSIGNED"), pure("ENUM"), pure("VECTOR"), pure("ARRAY"),
    // numbers
    pure("ABS"), pure("ACOS"), pure("ASIN"), pure("ATAN"), pure("ATAN2"), pure("CEIL"), pure("CEILING"), pure("CONV"),
    pure("COS"), pure("COT"), pure("CRC32"), pure("CRC32C"), pure("DEGREES"), pure("EXP"), pure("FLOOR"), pure("GREATEST"),
    pure("LEAST"), pure("LN"), pure("LOG"), pure("LOG10"), pure("LOG2"), pure("MOD"), pure("OCT"), pure("PI"), pure("POW"),
    pure("POWER"), pure("RADIANS"), pure("RAND"), pure("ROUND"), pure("SIGN"), pure("SIN"), pure("SQRT"), pure("TAN"),
    pure("BIT_COUNT"), pure("INTERVAL"), pure("TO_NUMBER"),
    // text
    pure("ASCII"), pure("BIN"), pure("BIT_LENGTH"), pure("CHARACTER_LENGTH"), pure("CHAR_LENGTH"), pure("CHR"), pure("CONCAT"),
    pure("CONCAT_OPERATOR_ORACLE"), pure("CONCAT_WS"), pure("ELT"), pure("EXPORT_SET"), pure("EXTRACTVALUE"), pure("FIELD"),
    pure("FIND_IN_SET"), pure("FROM_BASE64"), pure("HEX"), pure("INSTR"), pure("LCASE"), pure("LEFT"), pure("LENGTH"),
    pure("LENGTHB"), pure("LOCATE"), pure("LOWER"), pure("LPAD"), pure("LTRIM"), pure("MAKE_SET"), pure("MATCH"), pure("MID"),
    pure("NATURAL_SORT_KEY"), pure("OCTET_LENGTH"), pure("ORD"), pure("POSITION"), pure("QUOTE"), pure("REGEXP_INSTR"),
    pure("REGEXP_LIKE"), pure("REGEXP_REPLACE"), pure("REGEXP_SUBSTR"), pure("REVERSE"), pure("RIGHT"),
    pure("RPAD"), pure("RTRIM"), pure("SFORMAT"), pure("SOUNDEX"), pure("SPACE"), pure("STRCMP"), pure("SUBSTR"),
    pure("SUBSTRING"), pure("SUBSTRING_INDEX"), pure("TO_BASE64"), pure("TO_CHAR"), pure("TRIM"), pure("TRIM_ORACLE"),
    pure("UCASE"), pure("UNHEX"), pure("UPDATEXML"), pure("UPPER"), pure("WEIGHT_STRING"), pure("KDF"),
    // date and time
    pure("ADDDATE"), pure("ADDTIME"), pure("ADD_MONTHS"), pure("CONVERT_TZ"), pure("CURDATE"), pure("CURRENT_DATE"), pure("CURRENT_TIME"),
    pure("CURRENT_TIMESTAMP"), pure("CURTIME"), pure("DATE"), pure("DATEDIFF"), pure("DATETIME"), pure("DATE_ADD"),
    pure("DATE_FORMAT"), pure("DATE_SUB"), pure("DAY"), pure("DAYNAME"), pure("DAYOFMONTH"), pure("DAYOFWEEK"),
    pure("DAYOFYEAR"), pure("EXTRACT"), pure("FORMAT_PICO_TIME"), pure("FROM_DAYS"), pure("FROM_UNIXTIME"), pure("GET_FORMAT"),
    pure("HOUR"), pure("LAST_DAY"), pure("LOCALTIME"), pure("LOCALTIMESTAMP"), pure("MAKEDATE"), pure("MAKETIME"),
    pure("MICROSECOND"), pure("MINUTE"), pure("MONTH"), pure("MONTHNAME"), pure("MONTHS_BETWEEN"), pure("NOW"),
    pure("PERIOD_ADD"), pure("PERIOD_DIFF"), pure("QUARTER"), pure("SECOND"), pure("SEC_TO_TIME"), pure("STR_TO_DATE"),
    pure("SUBDATE"), pure("SUBTIME"), pure("SYSDATE"), pure("TIME"), pure("TIMEDIFF"), pure("TIMESTAMP"), pure("TIMESTAMPADD"),
    pure("TIMESTAMPDIFF"), pure("TIME_FORMAT"), pure("TIME_TO_SEC"), pure("TO_DATE"), pure("TO_DAYS"), pure("TO_SECONDS"),
    pure("UNIX_TIMESTAMP"), pure("UTC_DATE"), pure("UTC_TIME"), pure("UTC_TIMESTAMP"), pure("WEEK"), pure("WEEKDAY"),
    pure("WEEKOFYEAR"), pure("YEAR"), pure("YEARWEEK"),
    // control, conversion, comparison
    pure("CAST"), pure("CONVERT"), pure("COALESCE"), pure("IFNULL"), pure("ISNULL"), pure("NULLIF"), pure("NVL"), pure("NVL2"),
    pure("DECODE"), pure("DECODE_ORACLE"), pure("ANY_VALUE"), pure("BENCHMARK"), pure("SLEEP"), pure("NAME_CONST"),
    pure("COERCIBILITY"), pure("FORMAT_BYTES"),
    // cryptography, compression, identifiers
    pure("AES_DECRYPT"), pure("AES_ENCRYPT"), pure("COMPRESS"), pure("DES_DECRYPT"), pure("DES_ENCRYPT"), pure("ENCODE"),
    pure("ENCRYPT"), pure("MD5"), pure("OLD_PASSWORD"), pure("RANDOM_BYTES"), pure("SHA"), pure("SHA1"), pure("SHA2"),
    pure("STATEMENT_DIGEST"), pure("STATEMENT_DIGEST_TEXT"), pure("UNCOMPRESS"), pure("UNCOMPRESSED_LENGTH"),
    pure("VALIDATE_PASSWORD_STRENGTH"), pure("UUID"), pure("UUID_SHORT"), pure("UUID_V4"), pure("UUID_V7"), pure("SYS_GUID"), pure("UUID_TO_BIN"),
    pure("BIN_TO_UUID"), pure("IS_UUID"), pure("INET_ATON"), pure("INET_NTOA"), pure("INET6_ATON"), pure("INET6_NTOA"),
    pure("IS_IPV4"), pure("IS_IPV4_COMPAT"), pure("IS_IPV4_MAPPED"), pure("IS_IPV6"),
    // about the session, the same on every server
    pure("CURRENT_USER"), pure("SESSION_USER"), pure("SYSTEM_USER"), pure("VERSION"), pure("ICU_VERSION"),
    pure("GTID_SUBSET"), pure("GTID_SUBTRACT"), pure("DECODE_HISTOGRAM"),
    // aggregates and window functions
    pure("APPROX_COUNT_DISTINCT"), pure("AVG"), pure("BIT_AND"), pure("BIT_OR"), pure("BIT_XOR"), pure("GROUP_CONCAT"), pure("MAX"), pure("MEDIAN"),
    pure("MIN"), pure("PERCENTILE_CONT"), pure("PERCENTILE_DISC"), pure("STD"), pure("STDDEV"), pure("STDDEV_POP"),
    pure("STDDEV_SAMP"), pure("SUM"), pure("VARIANCE"), pure("VAR_POP"), pure("VAR_SAMP"), pure("CUME_DIST"),
    pure("DENSE_RANK"), pure("FIRST_VALUE"), pure("LAG"), pure("LAST_VALUE"), pure("LEAD"), pure("NTH_VALUE"), pure("NTILE"),
    pure("PERCENT_RANK"), pure("RANK"), pure("ROW_NUMBER"),
    // JSON
    pure("JSON_ARRAY"), pure("JSON_ARRAYAGG"), pure("JSON_ARRAY_APPEND"), pure("JSON_ARRAY_INSERT"), pure("JSON_ARRAY_INTERSECT"),
    pure("JSON_COMPACT"), pure("JSON_CONTAINS"), pure("JSON_CONTAINS_PATH"), pure("JSON_DEPTH"), pure("JSON_DETAILED"),
    pure("JSON_EQUALS"), pure("JSON_EXISTS"), pure("JSON_EXTRACT"), pure("JSON_INSERT"), pure("JSON_KEYS"),
    pure("JSON_KEY_VALUE"), pure("JSON_LENGTH"), pure("JSON_LOOSE"), pure("JSON_MERGE"), pure("JSON_MERGE_PATCH"),
    pure("JSON_MERGE_PRESERVE"), pure("JSON_NORMALIZE"), pure("JSON_OBJECT"), pure("JSON_OBJECTAGG"),
    pure("JSON_OBJECT_FILTER_KEYS"), pure("JSON_OBJECT_TO_ARRAY"), pure("JSON_OVERLAPS"), pure("JSON_PRETTY"), pure("JSON_QUERY"),
    pure("JSON_QUOTE"), pure("JSON_REMOVE"), pure("JSON_REPLACE"), pure("JSON_SCHEMA_VALID"),
    pure("JSON_SCHEMA_VALIDATION_REPORT"), pure("JSON_SEARCH"), pure("JSON_SET"), pure("JSON_STORAGE_FREE"),
    pure("JSON_STORAGE_SIZE"), pure("JSON_TABLE"), pure("JSON_TYPE"), pure("JSON_UNQUOTE"), pure("JSON_VALID"), pure("JSON_VALUE"),
    // dynamic columns, vectors
    pure("COLUMN_ADD"), pure("COLUMN_CHECK"), pure("COLUMN_CREATE"), pure("COLUMN_DELETE"), pure("COLUMN_EXISTS"),
    pure("COLUMN_GET"), pure("COLUMN_JSON"), pure("COLUMN_LIST"), pure("DISTANCE"), pure("STRING_TO_VECTOR"),
    pure("TO_VECTOR"), pure("VECTOR_TO_STRING"), pure("FROM_VECTOR"), pure("VECTOR_DIM"), pure("VEC_DISTANCE"),
    pure("VEC_DISTANCE_COSINE"), pure("VEC_DISTANCE_EUCLIDEAN"), pure("VEC_FROMTEXT"), pure("VEC_TOTEXT"),
    // geometry
    pure("GEOMETRYCOLLECTION"), pure("GEOMCOLLECTION"), pure("LINESTRING"), pure("MULTILINESTRING"), pure("MULTIPOINT"),
    pure("MULTIPOLYGON"), pure("POINT"), pure("POLYGON"), pure("MBRCONTAINS"), pure("MBRCOVEREDBY"), pure("MBRCOVERS"),
    pure("MBRDISJOINT"), pure("MBREQUALS"), pure("MBRINTERSECTS"), pure("MBROVERLAPS"), pure("MBRTOUCHES"), pure("MBRWITHIN"),
    pure("ST_AREA"), pure("ST_ASBINARY"), pure("ST_ASGEOJSON"), pure("ST_ASTEXT"), pure("ST_ASWKB"), pure("ST_ASWKT"),
    pure("ST_BOUNDARY"), pure("ST_BUFFER"), pure("ST_BUFFER_STRATEGY"), pure("ST_CENTROID"), pure("ST_COLLECT"),
    pure("ST_CONTAINS"), pure("ST_CONVEXHULL"), pure("ST_CROSSES"), pure("ST_DIFFERENCE"), pure("ST_DIMENSION"),
    pure("ST_DISJOINT"), pure("ST_DISTANCE"), pure("ST_DISTANCE_SPHERE"), pure("ST_ENDPOINT"), pure("ST_ENVELOPE"),
    pure("ST_EQUALS"), pure("ST_EXTERIORRING"), pure("ST_FRECHETDISTANCE"), pure("ST_GEOHASH"), pure("ST_GEOMCOLLFROMTEXT"),
    pure("ST_GEOMETRYFROMTEXT"), pure("ST_GEOMETRYN"), pure("ST_GEOMETRYTYPE"), pure("ST_GEOMFROMGEOJSON"),
    pure("ST_GEOMFROMTEXT"), pure("ST_GEOMFROMWKB"), pure("ST_HAUSDORFFDISTANCE"), pure("ST_INTERIORRINGN"),
    pure("ST_INTERSECTION"), pure("ST_INTERSECTS"), pure("ST_ISCLOSED"), pure("ST_ISEMPTY"), pure("ST_ISRING"),
    pure("ST_ISSIMPLE"), pure("ST_ISVALID"), pure("ST_LATFROMGEOHASH"), pure("ST_LATITUDE"), pure("ST_LENGTH"),
    pure("ST_LINEFROMTEXT"), pure("ST_LINEINTERPOLATEPOINT"), pure("ST_LINESTRINGFROMTEXT"), pure("ST_LONGFROMGEOHASH"),
    pure("ST_LONGITUDE"), pure("ST_MAKEENVELOPE"), pure("ST_NUMGEOMETRIES"), pure("ST_NUMINTERIORRING"),
    pure("ST_NUMINTERIORRINGS"), pure("ST_NUMPOINTS"), pure("ST_OVERLAPS"), pure("ST_PERIMETER"), pure("ST_POINTATDISTANCE"),
    pure("ST_POINTFROMGEOHASH"), pure("ST_POINTFROMTEXT"), pure("ST_POINTFROMWKB"), pure("ST_POINTN"), pure("ST_POINTONSURFACE"),
    pure("ST_POLYFROMTEXT"), pure("ST_POLYGONFROMTEXT"), pure("ST_RELATE"), pure("ST_SIMPLIFY"), pure("ST_SRID"),
    pure("ST_STARTPOINT"), pure("ST_SWAPXY"), pure("ST_SYMDIFFERENCE"), pure("ST_TOUCHES"), pure("ST_TRANSFORM"),
    pure("ST_UNION"), pure("ST_VALIDATE"), pure("ST_WITHIN"), pure("ST_X"), pure("ST_Y"),
];
