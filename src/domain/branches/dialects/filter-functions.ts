/**
 * The functions that a row filter may call, and the words before a parenthesis that call none. A function stands here
 * if its value follows from its arguments, rows, the time or chance. Functions that run a text as a query
 * (`ts_rewrite`, `query_to_xml`), wait, lock, read files or settings, or make texts of any length (`repeat`, `lpad`) do
 * not.
 *
 * Not here: how a filter is read (sql-text.ts), and what it may not hold beside calls (filter-effects.ts).
 */

/** The engines whose filters are read. */
export type SqlForm = "PostgreSQL" | "MySQL" | "ClickHouse"

/** Words of every engine behind which a list, a query or a value in parentheses stands. */
const words = [
  ...["all", "and", "any", "as", "between", "case", "distinct", "else", "except", "exists", "from", "having", "in"],
  ...["intersect", "join", "like", "not", "on", "or", "select", "some", "then", "union", "using", "values", "when"],
  ...["where"]
]

/** Functions that every engine has. */
const common = [
  ...["avg", "coalesce", "count", "max", "min", "nullif", "sum"],
  ...["dense_rank", "first_value", "lag", "last_value", "lead", "ntile", "rank", "row_number"],
  ...["ascii", "concat", "left", "lower", "ltrim", "replace", "reverse", "right", "rtrim", "substring", "trim"],
  ...[
    "upper",
    "abs",
    "acos",
    "asin",
    "atan",
    "cast",
    "ceiling",
    "cos",
    "degrees",
    "exp",
    "floor",
    "log",
    "pi",
    "power"
  ],
  ...["radians", "round", "sign", "sin", "sqrt", "tan"]
]

const postgresql = [
  ...["array", "ilike", "interval", "lateral", "row"],
  ...["bool_and", "bool_or", "every", "greatest", "least", "num_nonnulls", "num_nulls"],
  ...["bit_length", "btrim", "char", "char_length", "character", "character_length", "chr", "concat_ws", "decode"],
  ...["encode", "hashtext", "initcap", "length", "md5", "octet_length", "overlay", "position", "regexp_count"],
  ...["regexp_instr", "regexp_like", "regexp_match", "regexp_matches", "regexp_replace", "regexp_split_to_array"],
  ...["regexp_split_to_table", "regexp_substr", "sha256", "split_part", "starts_with", "string_to_array"],
  ...["string_to_table", "strpos", "substr", "to_hex", "translate", "varchar"],
  ...["atan2", "cbrt", "ceil", "decimal", "div", "ln", "log10", "mod", "numeric", "random", "trunc", "width_bucket"],
  ...["age", "clock_timestamp", "date", "date_bin", "date_part", "date_trunc", "extract", "isfinite", "make_date"],
  ...["make_interval", "make_time", "make_timestamp", "make_timestamptz", "now", "statement_timestamp", "time"],
  ...["timestamp", "timezone", "to_char", "to_date", "to_number", "to_timestamp", "transaction_timestamp"],
  ...["json_array_elements", "json_array_elements_text", "json_array_length", "json_build_array", "json_build_object"],
  ...["json_each", "json_each_text", "json_extract_path", "json_extract_path_text", "json_object_keys", "json_typeof"],
  ...["jsonb_array_elements", "jsonb_array_elements_text", "jsonb_array_length", "jsonb_build_array"],
  ...["jsonb_build_object", "jsonb_each", "jsonb_each_text", "jsonb_extract_path", "jsonb_extract_path_text"],
  ...["jsonb_object_keys", "jsonb_path_exists", "jsonb_path_match", "jsonb_path_query", "jsonb_path_query_array"],
  ...["jsonb_path_query_first", "jsonb_typeof", "row_to_json", "to_json", "to_jsonb"],
  ...["array_length", "array_lower", "array_ndims", "array_position", "array_positions", "array_remove"],
  ...["array_to_string", "array_upper", "cardinality", "unnest"],
  ...["daterange", "int4range", "int8range", "isempty", "lower_inc", "numrange", "tsrange", "tstzrange", "upper_inc"],
  ...["host", "masklen", "phraseto_tsquery", "plainto_tsquery", "to_tsquery", "to_tsvector", "websearch_to_tsquery"]
]

const mysql = [
  ...["against", "binary", "div", "interval", "match", "mod", "regexp", "rlike", "row", "xor"],
  ...["greatest", "if", "ifnull", "isnull", "least"],
  ...["bit_length", "char", "char_length", "character_length", "concat_ws", "convert", "crc32", "elt", "field"],
  ...["find_in_set", "from_base64", "hex", "insert", "instr", "lcase", "length", "locate", "md5", "mid"],
  ...[
    "octet_length",
    "ord",
    "position",
    "quote",
    "regexp_instr",
    "regexp_like",
    "regexp_replace",
    "regexp_substr",
    "sha",
    "sha1"
  ],
  ...["sha2", "soundex", "strcmp", "substr", "substring_index", "to_base64", "ucase", "unhex"],
  ...["adddate", "addtime", "curdate", "current_date", "current_time", "current_timestamp", "curtime", "date"],
  ...["date_add", "date_format", "date_sub", "datediff", "day", "dayname", "dayofmonth", "dayofweek", "dayofyear"],
  ...["extract", "from_days", "from_unixtime", "hour", "last_day", "localtime", "localtimestamp", "makedate"],
  ...["maketime", "microsecond", "minute", "month", "monthname", "now", "period_add", "period_diff", "quarter"],
  ...["sec_to_time", "second", "str_to_date", "subdate", "subtime", "sysdate", "time", "time_format", "time_to_sec"],
  ...["timediff", "timestamp", "timestampadd", "timestampdiff", "to_days", "to_seconds", "unix_timestamp"],
  ...["utc_date", "utc_time", "utc_timestamp", "week", "weekday", "weekofyear", "year", "yearweek"],
  ...["atan2", "bin", "bit_count", "ceil", "conv", "decimal", "ln", "log10", "log2", "oct", "pow", "rand", "truncate"],
  ...["json_array", "json_contains", "json_contains_path", "json_extract", "json_keys", "json_length", "json_object"],
  ...["json_overlaps", "json_quote", "json_search", "json_table", "json_type", "json_unquote", "json_valid"],
  ...["json_value", "bin_to_uuid", "inet6_aton", "inet6_ntoa", "inet_aton", "inet_ntoa", "is_uuid", "uuid_to_bin"],
  ...["point", "st_contains", "st_distance", "st_distance_sphere", "st_geomfromtext", "st_intersects", "st_within"],
  ...["st_x", "st_y"]
]

/** Types of numbers, of which ClickHouse has a function each that makes one of another value. */
const clickhouseNumbers = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"].concat([
  ...["float32", "float64"]
])
const clickhouseTimes = ["second", "minute", "hour", "day", "week", "month", "quarter", "year"]

const clickhouse = [
  ...["interval", "prewhere"],
  ...["assumenotnull", "equals", "greater", "greaterorequals", "greatest", "if", "ifnull", "isnotnull", "isnull"],
  ...["least", "less", "lessorequals", "multiif", "notequals", "notin", "tonullable", "xor"],
  ...["argmax", "argmin", "avgif", "countif", "median", "quantile", "sumif", "uniq", "uniqexact"],
  ...["arraystringconcat", "cityhash64", "empty", "endswith", "halfmd5", "hex", "ilike", "inthash32", "inthash64"],
  ...["length", "lengthutf8", "locate", "lowerutf8", "match", "md5", "notempty", "notlike", "position"],
  ...["positioncaseinsensitive", "positionutf8", "replaceall", "replaceone", "replaceregexpall", "replaceregexpone"],
  ...["reverseutf8", "siphash64", "splitbychar", "splitbystring", "startswith", "substr", "substringutf8", "tostring"],
  ...["trimboth", "trimleft", "trimright", "unhex", "upperutf8", "xxhash64"],
  ...clickhouseNumbers.flatMap((type) => [`to${type}`, `to${type}ornull`, `to${type}orzero`]),
  ...["todecimal32", "todecimal64", "todecimal128", "todate", "todate32", "todatetime", "todatetime64", "touuid"],
  ...["tofixedstring", "parsedatetimebesteffort", "parsedatetimebesteffortornull", "parsedatetimebesteffortorzero"],
  ...["date_add", "date_diff", "date_sub", "date_trunc", "dateadd", "datediff", "datesub", "datetrunc"],
  ...["formatdatetime", "now", "now64", "timeslot", "today", "todayofmonth", "todayofweek", "todayofyear", "tohour"],
  ...["tominute", "tomonday", "tomonth", "toquarter", "tosecond", "totime", "totimezone", "tounixtimestamp"],
  ...["toyear", "toyyyymm", "toyyyymmdd", "tostartofinterval", "yesterday"],
  ...clickhouseTimes.flatMap((unit) => [`add${unit}s`, `subtract${unit}s`, `tointerval${unit}`, `tostartof${unit}`]),
  ...["bitand", "bitor", "bitxor", "ceil", "divide", "intdiv", "log10", "log2", "minus", "modulo", "multiply"],
  ...["negate", "plus", "pow", "rand", "rand32", "rand64", "trunc"],
  ...["array", "arraycount", "arrayelement", "arrayexists", "arrayfilter", "arrayjoin", "arraymap", "arraymax"],
  ...["arraymin", "arraysum", "has", "hasall", "hasany", "indexof", "tuple", "tupleelement"],
  ...["jsonextract", "jsonextractbool", "jsonextractfloat", "jsonextractint", "jsonextractraw", "jsonextractstring"],
  ...["jsonextractuint", "jsonhas", "jsonlength", "jsontype", "mapcontains", "mapkeys", "mapvalues"],
  ...["simplejsonextractbool", "simplejsonextractfloat", "simplejsonextractint", "simplejsonextractstring"],
  ...["simplejsonextractuint", "simplejsonhas", "visitparamextractbool", "visitparamextractfloat"],
  ...["visitparamextractint", "visitparamextractstring", "visitparamextractuint", "visitparamhas"]
]

const having = (names: ReadonlyArray<string>): ReadonlySet<string> => new Set([...words, ...common, ...names])

/**
 * Words that may stand before an opening parenthesis, in lower case: functions, types with a length, and words of the
 * language.
 */
export const callable: Readonly<Record<SqlForm, ReadonlySet<string>>> = {
  PostgreSQL: having(postgresql),
  MySQL: having(mysql),
  ClickHouse: having(clickhouse)
}

/** Words that call no function before a parenthesis where the other word stands before them. */
export const callablePairs: ReadonlySet<string> = new Set([
  ...["group by", "order by", "partition by", "within group", "member of", "similar to", "time zone"],
  ...["tablesample bernoulli", "tablesample system"]
])
