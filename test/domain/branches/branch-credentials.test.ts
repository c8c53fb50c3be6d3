import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import {
  credentialsBody,
  credentialsSecretName,
  credentialsSecrets,
  differentVariables,
  readBranchCredentials
} from "../../../src/domain/branches/branch-credentials.ts"
import { readConnection } from "../../../src/domain/branches/connection-source.ts"

const body = { namespace: "shop", branch_id: "b", values: { DB_USER: "app", DB_PASSWORD: "s3cret" } }
const variable = fc.stringMatching(/^[A-Z_][A-Z0-9_]{0,12}$/)

describe("values that a user has written into the configuration", () => {
  it("are sent on as they came, for their user", () => {
    fc.assert(
      fc.property(fc.dictionary(variable, fc.string(), { minKeys: 1, maxKeys: 8 }), (values) => {
        const read = Result.getOrThrow(readBranchCredentials({ ...body, values }))
        const sent = credentialsBody(read, "ann")
        expect(sent).toEqual({ ...body, values, on_behalf_of: "ann" })
        const again = Result.getOrThrow(readBranchCredentials(sent))
        expect(again.user).toBe("ann")
        expect(differentVariables(read.values, again.values)).toEqual([])
        // The other properties of the request may be logged, and the values with them are hidden.
        expect(JSON.stringify([...again.values.values()])).toBe(
          JSON.stringify([...again.values].map(() => "<redacted>"))
        )
      })
    )
  })

  it("differ where one has another value, or a variable that the other one lacks", () => {
    const of = (...entries: ReadonlyArray<readonly [string, string]>) =>
      new Map(entries.map(([name, value]) => [name, Redacted.make(value)] as const))
    expect(differentVariables(of(["A", "1"], ["B", "2"]), of(["A", "1"], ["B", "3"], ["C", "4"]))).toEqual(["B", "C"])
    expect(differentVariables(of(["A", "1"]), of())).toEqual(["A"])
  })

  it.each([
    [{ namespace: "Shop" }, 'namespace is "Shop"; it must be the name of the target\'s namespace.'],
    [{ branch_id: "" }, "branch_id has 0 characters; it must have 1 to 253."],
    [{ values: {} }, "values holds 0 variables; it must hold 1 to 64."],
    [{ values: ["s3cret"] }, "values holds 0 variables; it must hold 1 to 64."],
    [{ values: { "a b": "s3cret" } }, 'values names "a b", which is no name of an environment variable.'],
    [{ values: { A: { s3cret: 1 } } }, "values.A is no text; each value must be one."]
  ])("are refused without telling them: %j", (change, sentence) => {
    expect(readBranchCredentials({ ...body, ...change })).toEqual(Result.fail(sentence))
    expect(sentence).not.toContain("s3cret")
  })

  it("are found in a connection by the names of their Secrets", () => {
    const ours = credentialsSecretName("0123")
    const secret = (name: string, key: string) => ({ secret: { name, key, env_var_name: key } })
    const params = { host: secret("theirs", "H"), user: secret(ours, "U"), password: [secret(ours, "P")] }
    expect(credentialsSecrets(Result.getOrThrow(readConnection({ params }, [])))).toEqual([ours])
  })
})
