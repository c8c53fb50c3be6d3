import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { paths } from "../../../lab/fuzz/http-inputs.ts"
import { operatorApiRoot, operatorGroup } from "../../../src/domain/resources/operator-api.ts"

const routes = readFileSync(new URL("../../../src/app/api/routes.ts", import.meta.url), "utf8")

describe("the paths of hostile requests", () => {
  it("are those of every route", () => {
    const patterns = [...routes.matchAll(/HttpRouter\.add\(\s*"[A-Z]+",\s*(?:[`"]([^`"]+)[`"]|operatorApiRoot)/gu)].map(
      ([, path = operatorApiRoot]) =>
        path.replace("${operatorApiRoot}", operatorApiRoot).replace("${operatorGroup}", operatorGroup)
    )
    expect(patterns.length).toBeGreaterThan(20)
    const missing = patterns.filter((pattern) => {
      const form = new RegExp(`^${pattern.replaceAll(".", String.raw`\.`).replaceAll(/:\w+/gu, "[^/]+")}$`, "u")
      return !paths.some((path) => form.test(path))
    })
    expect(missing).toEqual([])
  })
})
