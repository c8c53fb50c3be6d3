import { expect, it } from "vitest"
import { checkProblem, isCredentialRefusal } from "../../../src/domain/fleet/check-problem.ts"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"

const name = clusterName("b")

it.each([
  [
    "BearerToken",
    { reason: "Unauthorized", code: 401, detail: "Unauthorized" },
    "it refuses the primary's credentials (401): their account may be gone; braid join b --apply --wait makes new ones"
  ],
  [
    "Mtls",
    { reason: "Unauthorized", code: 401, detail: "Unauthorized" },
    "it refuses the primary's credentials (401); braid doctor --cluster b says more"
  ],
  [
    "Mtls",
    { reason: "Unreachable", detail: "connect ECONNREFUSED 10.0.0.1:6443" },
    "its API server cannot be reached (connect ECONNREFUSED 10.0.0.1:6443); braid doctor --cluster b says more"
  ],
  [
    "Mtls",
    { reason: "NotFound", code: 404, detail: "404 page not found" },
    "it has no mirrord operator that answers (404); braid doctor --cluster b says more"
  ],
  [
    "Mtls",
    { reason: "Other", code: 503, detail: "service unavailable" },
    "its API server does not reach the operator there (503: service unavailable); braid doctor --cluster b says more"
  ],
  [
    undefined,
    { reason: "Other", code: 500, detail: "x" },
    "its operator could not be asked (500: x); braid doctor says more"
  ]
] as const)("a check of a cluster with %s that ends with %j is told in people's words", (auth, call, problem) => {
  expect(checkProblem({ name, auth }, call, undefined)).toBe(problem)
  expect(isCredentialRefusal(problem)).toBe(call.reason === "Unauthorized")
})

it("credentials of which more is known are told with that", () => {
  const call = { reason: "Unauthorized", code: 401, detail: "Unauthorized" }
  expect(checkProblem({ name, auth: "BearerToken" }, call, "the token ended; make a new one")).toBe(
    "it refuses the primary's credentials (401): the token ended; make a new one"
  )
})
