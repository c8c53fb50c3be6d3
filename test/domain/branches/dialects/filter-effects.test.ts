import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { callable, type SqlForm } from "../../../../src/domain/branches/dialects/filter-functions.ts"
import { filterProblem } from "../../../../src/domain/branches/dialects/sql-text.ts"

const honest: Readonly<Record<SqlForm, ReadonlyArray<string>>> = {
  PostgreSQL: [
    "created > now() - interval '7 days' and lower(email) like '%@example.com'",
    "price::numeric(10, 2) > 5 and at at time zone ('UTC') < date_trunc('day', now())",
    "id in (select id from orders tablesample system (1)) or random() < 0.01",
    "id in (select n from (select id, row_number() over (partition by (buyer) order by (id)) from orders) as t (n, k))",
    "exists (with top as (select max(id) as id from orders) select 1 from top where top.id = orders.id)",
    "data @> '{\"a\": 1}' and jsonb_array_length(data -> 'list') = any (array[1, 2]) and settings is not null",
    "name similar to ('a|b') and (a, b) is distinct from (1, 2) and cast(id as varchar(9)) = 'pg_sleep(1)'",
    "substring(name from 2 for 3) = 'abc' and count(*) filter (where (true)) over () > 1"
  ],
  MySQL: [
    "created > date_sub(now(), interval 7 day) and match (title) against ('x' in boolean mode)",
    "`sleep` = 1 and json_extract(data, '$.a') = 1 and cast(id as decimal(10, 2)) in (1, 2) and rand() < 0.1",
    "data -> '$.a' = 'sleep(1)' and if(a, b, c) regexp ('x')"
  ],
  ClickHouse: [
    "day >= today() - 7 and toYYYYMM(day) = 202401 and cityHash64(id) % 100 = 0",
    "has(tags, 'x') and JSONExtractString(data, 'a') = 'url(1)' and settings = 1 and settings like 'x'",
    "arrayExists(x -> (x > 1), list) and price::Decimal(10, 2) > 1 and quantile(0.5)(x) > 1"
  ]
}

const hostile: Readonly<Record<SqlForm, ReadonlyArray<readonly [filter: string, reason: string]>>> = {
  PostgreSQL: [
    ["(select count(pg_terminate_backend(pid)) from pg_stat_activity) >= 0", "calls pg_terminate_backend,"],
    ["PG_Sleep (9) is null", "calls PG_Sleep,"],
    ['"pg_sleep"(9) is null', 'calls "pg_sleep",'],
    ["pg_catalog . pg_sleep(9) is null", "calls pg_catalog.pg_sleep,"],
    ['"pg_catalog"."lower"(name) is null', 'calls "pg_catalog"."lower",'],
    ["U&\"pg!005fsleep\" uescape '!' (9) is null", "calls '!',"],
    ["1 operator(pg_catalog.+) 2 = 3", "calls operator,"],
    ["(1) operator(evil.+) 2 = 3", "calls operator,"],
    ["exists (select from pg_read_file('/etc/passwd') as f (line))", "calls pg_read_file,"],
    ["exists (select from rows from (pg_ls_dir('.'), unnest(array[1])))", "calls pg_ls_dir,"],
    ["name in (select ts_rewrite('a', 'select pg_sleep(9)'))", "calls ts_rewrite,"],
    ["id in (select id from orders for update)", "locks rows"],
    ["id in (select id from orders for no key update)", "locks rows"],
    ["id in (select 1 into x)", "INTO"]
  ],
  MySQL: [
    ["sleep(9) = 0", "calls sleep,"],
    ["`shop`.`lower`(name) = 'x'", "calls `shop`.`lower`,"],
    ["load_file ('/etc/passwd') is null", "calls load_file,"],
    ["get_lock('x', 9)", "calls get_lock,"],
    ["nextval(s) = 1", "calls nextval,"],
    ["next value for s = 1", "counts a sequence on"],
    ["id in (select id from orders lock in share mode)", "locks rows"],
    ["id in (select id from orders FOR\nSHARE)", "locks rows"],
    ["(select 1 into outfile '/tmp/x')", "INTO"]
  ],
  ClickHouse: [
    ["id in (select number from url('http://h/', 'CSV', 'number UInt32'))", "calls url,"],
    ["id in remote('h', shop.users)", "calls remote,"],
    ["id in (select id from file('/etc/passwd'))", "calls file,"],
    ["`sleep`(3) = 0", "calls `sleep`,"],
    ["id in (select * apply sleep from numbers)", "APPLY"],
    ["1::Int32\u00a0or\u00a0sleep(3)", "which is none of the functions"],
    ["id in (select id from users settings max_execution_time = 0)", "sets settings"]
  ]
}

const forms = Object.keys(honest) as ReadonlyArray<SqlForm>

describe.each(forms)("a filter of %s", (form) => {
  it.each(honest[form])("may be %s", (filter) => expect(filterProblem(filter, form)).toBeUndefined())

  it.each(hostile[form])("may not be %s", (filter, reason) => expect(filterProblem(filter, form)).toContain(reason))

  const dangerous = [
    ...["pg_terminate_backend", "pg_cancel_backend", "pg_notify", "pg_advisory_lock", "pg_read_file", "lo_export"],
    ...["pg_sleep", "set_config", "query_to_xml", "dblink", "nextval", "load_file", "sleep", "benchmark", "get_lock"],
    ...["url", "file", "remote", "s3", "executable", "sleepeachrow", "openrowset", "xp_cmdshell", "lpad", "repeat"]
  ]
  const quote = form === "PostgreSQL" ? '"' : "`"
  const quoted = (name: string) => `${quote}${name}${quote}`
  const name = fc
    .oneof(fc.constantFrom(...dangerous), fc.stringMatching(/^[a-z_][a-z0-9_]{0,12}$/u), fc.constant("größe"))
    .filter((word) => !callable[form].has(word) && !["as", "by", "zone", "group", "of", "to"].includes(word))
  const space = fc.constantFrom("", " ", "\n\t", "\r\n")
  /** Signs that some engine takes for spaces. */
  const anySpace = fc.constantFrom(" ", "\n", "\v", "\f", "\u0085", "\u00a0", "\u2003", "\u3000", "\ufeff", "\u0001")
  const written = fc
    .record({ name, owner: fc.constantFrom("", "public.", "pg_catalog . ", quoted("Own er") + "."), space })
    .chain(({ name: word, owner, space: gap }) =>
      fc.constantFrom(word, word.toUpperCase(), quoted(word)).map((spelt) => `${owner}${spelt}${gap}(1)`)
    )
  /** A known function that belongs to a schema, which need not be the engine's. */
  const owned = fc.constantFrom("public.lower(x)", `${quoted("own")}.${quoted("abs")} (x)`)
  const around = anySpace.chain((gap) =>
    fc.constantFrom<(call: string) => string>(
      (call) => call,
      (call) => `1 = 1${gap}and${gap}${call}${gap}= 1`,
      (call) => `id in (select id from t${gap}where${gap}${call} is null)`,
      (call) => `exists (select 1 from${gap}${call})`,
      (call) => `exists (select 1 from t as x${gap}cross${gap}join${gap}${call})`,
      (call) => `lower(upper(${call})) in ('a', ')')`,
      (call) => `(1)${gap}or${gap}${call}`,
      (call) => `cast(1 as int)${gap}or${gap}${call}`,
      (call) => `1::int${gap}or${gap}${call}`,
      (call) => `case when a then (b) else${gap}${call} end`
    )
  )

  it("calls no function but those of the list, however it is spelt and wherever it stands", () => {
    fc.assert(
      fc.property(fc.oneof(written, owned), around, (call, filter) => {
        expect(filterProblem(filter(call), form)).toBeDefined()
      })
    )
  })

  it("may call each function of the list", () => {
    for (const known of callable[form]) expect(filterProblem(`1 = (${known} (x))`, form)).toBeUndefined()
  })
})
