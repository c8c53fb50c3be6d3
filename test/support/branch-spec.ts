import type { BranchDatabaseSpec } from "../../src/domain/resources/branches/branch-database.ts"

/** The fields of every spec of a branch, for `deployment/app`; the options of an engine are missing. */
export const bareBranchSpec: BranchDatabaseSpec = {
  id: "b",
  ttlSecs: 300,
  target: { apiVersion: "apps/v1", kind: "Deployment", name: "app", container: "" },
  connectionSource: { url: { env: { container: null, variable: "URL" } } }
}
