/** Branches of DynamoDB: requests, programs and endpoints. Tests with the server are in test/real/engines. */

import { spawnSync } from "node:child_process"
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { programsOf } from "../../../../src/adapters/engines/programs.ts"
import { newUrl, rewrittenUrl } from "../../../../src/domain/branches/branch-address.ts"
import { readBranchRequest } from "../../../../src/domain/branches/branch-request.ts"
import { dynamodb } from "../../../../src/domain/branches/dialects/dynamodb.ts"
import { environmentPlan, everyVariable, rewriteEnvironment } from "../../../../src/domain/branches/environment-plan.ts"
import type { BranchDatabaseSpec } from "../../../../src/domain/resources/branches/branch-database.ts"
import { bareBranchSpec } from "../../../support/branch-spec.ts"
import { variable } from "../session-branch.ts"

const request = (change: Partial<BranchDatabaseSpec>) =>
  readBranchRequest({
    ...bareBranchSpec,
    connectionSource: { url: { env: { container: null, variable: "AWS_ENDPOINT_URL_DYNAMODB" } } },
    dynamodbOptions: {},
    ...change
  })

const access = { host: "10.1.2.3", port: 8_000, user: "", password: Redacted.make("secret"), database: undefined }

/** The variables of a session on a branch with this connection; `given`: those of the target. */
const sessionVariables = (
  connectionSource: BranchDatabaseSpec["connectionSource"],
  given: Readonly<Record<string, string>>,
  wanted = everyVariable
) => {
  const branch = { name: "branch-1", request: Result.getOrThrow(request({ connectionSource })), access }
  const plan = Result.getOrThrow(environmentPlan([branch]))
  const { unused, variables } = Result.getOrThrow(rewriteEnvironment(plan, new Map(Object.entries(given)), wanted))
  return { unused, variables: Object.fromEntries(variables) }
}

describe("a branch of DynamoDB", () => {
  it("begins empty, whatever tables are named", () => {
    const copy = { mode: "empty", items: { users: {} } } as const
    expect(Result.getOrThrow(request({ dynamodbOptions: { copy } }))).toMatchObject({ mode: "empty", parts: [] })
  })

  it.each([
    [
      "a copy",
      { dynamodbOptions: { copy: { mode: "all" } } },
      'spec.dynamodbOptions.copy.mode is "all"; for DynamoDB it must be one of empty: a copy needs a cloud identity'
    ],
    [
      "a name",
      { databaseName: "shop" },
      'spec.databaseName is "shop"; it must be left out, since DynamoDB has no names'
    ]
  ] as ReadonlyArray<readonly [string, Partial<BranchDatabaseSpec>, string]>)(
    "is refused for %s",
    (_, change, reason) => {
      const told = request(change)
      expect(Result.isFailure(told) ? told.failure : "").toContain(reason)
    }
  )

  it("is served by the program of its image, to every user alike", () => {
    const folder = mkdtempSync(join(tmpdir(), "braid-java-"))
    try {
      const java = join(folder, "java")
      writeFileSync(java, '#!/bin/sh\necho "$DDB_LOCAL_TELEMETRY $*"\n')
      chmodSync(java, 0o755)
      const DATA = join(folder, "data")
      const env = { PATH: `${folder}:${process.env["PATH"] ?? ""}`, DATA, COPY_MODE: "empty" }
      const run = (script: string, more = {}) =>
        spawnSync("sh", ["-c", script], { env: { ...env, ...more }, encoding: "utf8" })
      const { copy, serve } = programsOf(dynamodb)
      expect(run(copy)).toMatchObject({ status: 0, stdout: "", stderr: "" })
      expect(run(copy, { COPY_MODE: "all" })).toMatchObject({
        status: 1,
        stderr: "tables of DynamoDB cannot be copied\n"
      })
      expect(run(serve).stdout).toBe(
        "0 -Djava.library.path=DynamoDBLocal_lib -jar DynamoDBLocal.jar -inMemory -sharedDb -port 8000\n"
      )
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it("is at an endpoint without TLS and without a login, with its port", () => {
    const branch = { ...access, form: dynamodb.address, query: {} }
    expect(newUrl(branch)).toBe("http://10.1.2.3:8000")
    for (const source of ["https://dynamodb.eu-west-1.amazonaws.com", "http://localhost:4566/", "HTTPS://u:p@h:80"]) {
      expect(Result.getOrThrow(rewrittenUrl(branch, source))).toBe("http://10.1.2.3:8000")
    }
    for (const source of ["dynamodb.eu-west-1.amazonaws.com", "", "http://h/a/b"]) {
      expect(Result.isFailure(rewrittenUrl(branch, source))).toBe(true)
    }
  })

  it("is where the session's program looks, even if the target has no variable with an endpoint", () => {
    const name = "AWS_ENDPOINT_URL_DYNAMODB"
    const led = { unused: [], variables: { OTHER: "1", [name]: "http://10.1.2.3:8000" } }
    expect(sessionVariables({ url: variable(name) }, { OTHER: "1" })).toEqual(led)
    expect(sessionVariables({ url: variable(name) }, { OTHER: "1", [name]: "https://h" })).toEqual(led)
    const without = { filter: new Set([name]), select: new Set<string>() }
    expect(sessionVariables({ url: variable(name) }, {}, without)).toEqual({ unused: [], variables: {} })
  })

  it("leaves the user and the password as the target has them", () => {
    const names = { user: "AWS_ACCESS_KEY_ID", password: "AWS_SECRET_ACCESS_KEY" }
    const params = { host: variable("HOST"), user: variable(names.user), password: variable(names.password) }
    const given = { [names.user]: "key", [names.password]: "own" }
    expect(sessionVariables({ params }, { HOST: "h", ...given }).variables).toEqual({ HOST: "10.1.2.3", ...given })
    const user = { secret: { name: "aws", key: "id", env_var_name: names.user } }
    expect(sessionVariables({ params: { ...params, user } }, { HOST: "h" }).variables).toEqual({ HOST: "10.1.2.3" })
  })
})
