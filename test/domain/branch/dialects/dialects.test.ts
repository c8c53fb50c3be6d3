import { spawnSync } from "node:child_process"
import { describe, expect, it } from "vitest"
import { engines } from "../../../../src/domain/branch/engines.ts"

const served = Object.values(engines).flatMap(({ dialect, name }) => (dialect === undefined ? [] : [{ name, dialect }]))

describe("the programs of a branch", () => {
  it.each(served)("can be read by a shell: $name", ({ dialect }) => {
    for (const input of [dialect.copyScript, dialect.serveScript]) {
      expect(spawnSync("sh", ["-n"], { input, encoding: "utf8" })).toMatchObject({ status: 0, stderr: "" })
    }
  })

  it.each(served)("give the server the arguments of the container: $name", ({ dialect }) => {
    expect(dialect.serveScript).toContain('"$@"')
  })

  it.each(served)("name folders by variables alone: $name", ({ dialect }) => {
    for (const script of [dialect.copyScript, dialect.serveScript]) {
      expect(script.replace(/\/dev\/null/gu, "")).not.toMatch(/(?<=[\s"'=])\/[a-z]/u)
    }
  })
})
