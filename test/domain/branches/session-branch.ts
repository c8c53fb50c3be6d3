import { Redacted, Result } from "effect"
import { type BranchRequest, readBranchRequest } from "../../../src/domain/branches/branch-request.ts"
import type { SessionBranch } from "../../../src/domain/branches/environment-plan.ts"
import type { BranchDatabaseSpec } from "../../../src/domain/resources/branches/branch-database.ts"
import { bareBranchSpec } from "../../support/branch-spec.ts"

/** The spec of a PostgreSQL branch. */
const branchSpec = (
  connectionSource: BranchDatabaseSpec["connectionSource"],
  change: Partial<BranchDatabaseSpec> = {}
): BranchDatabaseSpec => ({ ...bareBranchSpec, postgresOptions: {}, connectionSource, ...change })

/** A PostgreSQL branch at `10.1.2.3:5432`, of user `postgres` with a password that has to be encoded. */
export const sessionBranch = (
  connectionSource: BranchDatabaseSpec["connectionSource"],
  change: Partial<BranchDatabaseSpec> = {},
  access: Partial<SessionBranch["access"]> = {}
): SessionBranch & { readonly request: BranchRequest } => {
  const request = Result.getOrThrow(readBranchRequest(branchSpec(connectionSource, change)))
  const usual = { host: "10.1.2.3", port: 5432, user: "postgres", password: Redacted.make("p@:/?#%&w") }
  return { name: "branch-1", request, access: { ...usual, database: request.databaseName, ...access } }
}

/** The URL of that branch up to its path. */
export const branchUrl = "postgresql://postgres:p%40%3A%2F%3F%23%25%26w@10.1.2.3:5432"

export const variable = (name: string) => ({ env: { container: null, variable: name } })
export const pattern = (name: string, value_pattern: string) => ({
  envPattern: { container: null, variable: name, value_pattern }
})
