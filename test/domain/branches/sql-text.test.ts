import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { filterProblem, quotedName, tableName } from "../../../src/domain/branches/dialects/sql-text.ts"

describe("a row filter of MySQL", () => {
  it.each(["`Odd ) 'name` is null", 'name = "it\'s"', "a -> '$.b' = 1"])("may be %s", (filter) =>
    expect(filterProblem(filter, "MySQL")).toBeUndefined()
  )

  it.each([
    ["`a'b`) into outfile '/tmp/x' -- '", "closing parenthesis"],
    ["true # rest", "comment"],
    ["`a", "never closed"],
    ["true /*! rest", "comment"]
  ])("may not be %s", (filter, reason) => expect(filterProblem(filter, "MySQL")).toContain(reason))
})

describe("a row filter", () => {
  it.each(["id < 3", "name = 'O''Brien; --'", "(a or b) and c::date > now()", '"Odd ) name" is null', "x in (1, (2))"])(
    "may be %s",
    (filter) => expect(filterProblem(filter, "PostgreSQL")).toBeUndefined()
  )

  it.each([
    ["id<3) to stdout; delete from t where (true", "closing parenthesis"],
    ["true; drop table t", "semicolon"],
    ["true -- rest", "comment"],
    ["true /* rest", "comment"],
    ["name = 'x", "never closed"],
    ["name = E'\\''", "backslash"],
    ["\\! reboot", "\\"],
    ["name = $$x$$", "$"],
    ["id = :secret", ":"],
    ["id = :::secret", ":"],
    ["(true", "opening parenthesis"],
    [" ", "without a condition"]
  ])("may not be %s", (filter, reason) => expect(filterProblem(filter, "PostgreSQL")).toContain(reason))

  it.each([
    ["PostgreSQL", /'[^']*'|"[^"]*"/gu],
    ["MySQL", /'[^']*'|"[^"]*"|`[^`]*`/gu],
    ["ClickHouse", /'[^']*'|"[^"]*"|`[^`]*`/gu]
  ] as const)("of %s that is taken never leaves its parentheses, outside of texts in quotes", (form, texts) => {
    const signs = [
      "(",
      ")",
      "'",
      '"',
      "`",
      "[",
      "]",
      "]]",
      "#",
      ";",
      "-",
      "--",
      "/*",
      "*/",
      "\\",
      "$",
      ":",
      "::",
      "a",
      " ",
      "1"
    ]
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...signs), { maxLength: 12 }), (list) => {
        const filter = list.join("")
        if (filterProblem(filter, form) !== undefined) return
        // Not the empty text: what stands beside a text in quotes makes no comment together, as in -[]-.
        const outside = filter.replace(texts, " ")
        expect(outside).not.toMatch(form === "PostgreSQL" ? /[;'"\\$]|--|\/\*/u : /[;'"`#\\$]|--|\/\*/u)
        let depth = 0
        for (const sign of outside) {
          depth += Number(sign === "(") - Number(sign === ")")
          expect(depth).toBeGreaterThanOrEqual(0)
        }
        expect(depth).toBe(0)
      })
    )
  })
})

describe("a table's name", () => {
  it.each([
    ["orders", ["orders"]],
    ["sales.orders", ["sales", "orders"]],
    ['"Sales"."2024.x"', ["Sales", "2024.x"]],
    ['"a""b"', ['a"b']],
    ["größe", ["größe"]]
  ])("is read from %s", (name, parts) => expect(tableName(name)).toEqual(parts))

  it.each(["", ".", "a.", ".a", "a.b.c", "a b", '"a', '""', "a;b", "a'b", "2024", "a\n"])("is not %s", (name) =>
    expect(tableName(name)).toBeUndefined()
  )

  it("comes back from its quotes as it was", () => {
    const parts = fc.array(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 2 })
    fc.assert(
      fc.property(parts, (names) => {
        expect(tableName(quotedName(names))).toEqual(names)
      })
    )
  })
})
