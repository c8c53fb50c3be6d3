import { spawnSync } from "node:child_process"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { programsOf } from "../../../src/adapters/engines/programs.ts"
import { hidingCommand } from "../../../src/domain/branches/branch-pod.ts"
import { postgresql } from "../../../src/domain/branches/dialects/postgresql.ts"

/** Runs a program as the copying container does; the words of its tools are in the variable SAID. */
const ran = (env: Readonly<Record<string, string>>, program = `printf '%s\\n' "$SAID"`) => {
  const [, ...args] = hidingCommand(programsOf(postgresql).hide, program)
  const { status, stderr, stdout } = spawnSync("/bin/sh", args, {
    env: { PATH: process.env["PATH"], ...env },
    encoding: "utf8"
  })
  return { status, out: stdout, said: stderr }
}

describe("the words of a copy", () => {
  it.each([
    ["a / in a password", "postgresql://app:CANARY/x@host/db", 'invalid integer value "CANARY" for option "port"'],
    ["an @ in a password", "postgresql://app:CAN@CANARY@host/db", 'could not translate host name "CANARY@host"'],
    ["a % in a password", "mysql://app:CANARY%zz@host/db", 'invalid percent-encoded token: "CANARY%zz"'],
    ["an & in a password", "postgresql://host/db?user=app&password=x&CANARY", 'missing separator in "CANARY"'],
    ["a # in a password", "mysql://app:CANARY#x@host/db", "unknown port 'canary'"],
    ["a webhook", "https://hooks.example/services/T0/CANARY:8123", 'no database "services/T0/CANARY"'],
    ["no URL", "sk_live_CANARY", "must begin with postgresql://, and not with sk_live_CANARY"]
  ])("hold no piece of a URL that tools read in different ways: %s", (_what, url, words) => {
    const { said } = ran({ SOURCE_URL: url, SAID: words })
    expect(said).not.toMatch(/canary/iu)
    expect(said).toContain("…")
  })

  it("hold no word of a secret, however a tool quotes it or cuts it off", () => {
    const secret = fc.string({ unit: fc.constantFrom(..."xq7Z9€ü/@:%&#?=+.$'\"\\ "), minLength: 1, maxLength: 90 })
    const words = (text: string) => text.toLowerCase().match(/[a-z0-9€ü]+/gu) ?? []
    const places = fc.constantFrom(
      (text: string) => ({ SOURCE_PASSWORD: text }),
      (text: string) => ({ SOURCE_HOST: text }),
      (text: string) => ({ SOURCE_URL: `postgresql://app:${text}@host.example:5432/shop` }),
      (text: string) => ({ SOURCE_URL: `mongodb://app:${encodeURIComponent(text)}@host.example/shop?x=${text}` })
    )
    fc.assert(
      fc.property(secret, places, fc.nat(90), (text, place, end) => {
        const told = [text, encodeURIComponent(text), `("${text.replaceAll(/["'\\]/gu, "\\$&")}")`]
        const cut = words(text).map((word) => word.slice(0, Math.max(8, end)))
        const { said, status } = ran({ ...place(text), SAID: [...told, ...cut].join("\nERROR no ") })
        expect(status).toBe(0)
        expect(said.split("\n")).toHaveLength(told.length + cut.length + 1)
        const shown = new Set(words(said))
        for (const word of words(text)) if (word.length > 1) expect([...shown]).not.toContain(word)
        expect([...shown].filter((word) => /[xq7z9€ü]{8}/u.test(word))).toEqual([])
      })
    )
  })

  it("tell host, port and database of a URL that all read alike, and the errors of tools", () => {
    const SAID =
      'psql: error: connection to server at "db.example.com", port 5432 failed: database "shop" does not exist'
    const SOURCE_URL = "postgresql+asyncpg://postgres:p%40ss-w0rd@db.example.com:5432/shop?sslmode=require"
    expect(ran({ SOURCE_URL, SAID, TARGET_DEBUG: "error", TARGET_PORT: "5432" })).toEqual({
      status: 0,
      out: "",
      said: `${SAID}\n`
    })
    const login = 'password "p@ss-w0rd" of user "postgres" failed'
    expect(ran({ SOURCE_URL, SAID: login }).said).toBe('password "…" of user "…" failed\n')
  })

  it("hold no value of the target's variables, by which the source's are made", () => {
    const target = { TARGET_KEY: "a-Key", TARGET_URL: "amqp://u:s3cretly@mq", TARGET_LINES: "begin it\nend 1t\n" }
    const SAID = "a-key, s3cretly, end 1t, begin it, and the branch's 0wnPassword"
    expect(ran({ ...target, BRANCH_PASSWORD: "0wnPassword", SAID }).said).toBe("…, …, …, …, and the branch's …\n")
  })

  it("are told at once, and with the copy's end", () => {
    const program = "set -e; trap 'echo \"over $SOURCE_PASSWORD\"' EXIT; echo begun >&2; false; echo no"
    expect(ran({ SOURCE_PASSWORD: "s3cret" }, program)).toEqual({ status: 1, out: "", said: "begun\nover …\n" })
    expect(ran({}, "kill -9 $$").status).toBe(137)
    const long = ran({ SOURCE_PASSWORD: "s3cret", SAID: `${"x ".repeat(5_000)}s3cret` }).said
    expect(long.length).toBeLessThan(5_000)
    expect(long).toMatch(/ …\n$/u)
  })

  it("are none where the image cannot hide them", () => {
    expect(ran({ PATH: "/nowhere", SOURCE_PASSWORD: "s3cret", SAID: "s3cret" })).toEqual({
      status: 1,
      out: "",
      said: "the image has no awk, which would take secrets out of what its programs say\n"
    })
  })
})
