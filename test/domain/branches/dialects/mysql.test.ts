import { describe, expect, it } from "vitest"
import { mariadb } from "../../../../src/domain/branches/dialects/mariadb.ts"
import { mysql } from "../../../../src/domain/branches/dialects/mysql.ts"

const { dumpArgumentProblem, partName, partProblem } = mysql

describe("a table of MySQL", () => {
  it.each([
    ["orders", "orders"],
    ["Big Orders", "Big Orders"],
    ["-x $(reboot)", "-x $(reboot)"],
    ["`Odd.``Name`", "Odd.`Name"]
  ])("is named by %s", (name, found) => {
    expect(partProblem({ name, filter: undefined })).toBeUndefined()
    expect(partName(name)).toBe(found)
  })

  it.each(["", "shop.orders", "`a", "a`b", "'a'", '"a"', "a\nb", "x".repeat(65)])("is not named by %j", (name) =>
    expect(partProblem({ name, filter: undefined })).toContain("has no name of a table")
  )

  it("may have a filter that is one condition", () => {
    expect(partProblem({ name: "orders", filter: "`it's` > 1" })).toBeUndefined()
    expect(partProblem({ name: "orders", filter: "true # all" })).toContain("comment")
  })
})

describe("an argument of MySQL's dump program", () => {
  it.each(["--routines", "--skip-triggers", "--ignore-table=shop.logs", "--set-gtid-purged=OFF", "--no-tablespaces"])(
    "is passed on: %s",
    (argument) => expect(dumpArgumentProblem(argument)).toBeUndefined()
  )

  it.each([
    "--init-command=delete from orders",
    "--loose-init-command=x",
    "--where=1) into outfile '/x",
    "--delete-source-logs",
    "--result-file=/x",
    "--all-databases",
    "--rout",
    "-R",
    "orders"
  ])("is refused: %s", (argument) => expect(dumpArgumentProblem(argument)).toContain("it may be --no-tablespaces"))
})

describe("an address of MySQL", () => {
  it("has the engine's own scheme where it is new", () =>
    expect([mysql, mariadb].map(({ address }) => address.schemes[0])).toEqual(["mysql", "mariadb"]))

  it("keeps the parameters that say neither where the database is nor how it is secured", () => {
    const { locates, secures } = mysql.address
    const left = ["charset", "host", "socketpath", "user", "ssl-mode", "usessl", "tls", "allowpublickeyretrieval"]
    expect(left.filter((name) => !locates(name) && !secures(name))).toEqual(["charset", "allowpublickeyretrieval"])
  })
})
