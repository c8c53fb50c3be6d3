/** The simulation runs the operator's own decisions: there is no second implementation of any of them in lab. */

import { readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"

const root = fileURLToPath(new URL("../../..", import.meta.url))
const simulation = "lab/simulation/"

const files: ReadonlyArray<string> = ["src", "lab"].flatMap((top) =>
  readdirSync(join(root, top), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => `${top}/${name}`)
)
const text = (file: string): string => readFileSync(join(root, file), "utf8")

const importsOf = (file: string): ReadonlyArray<string> =>
  [...text(file).matchAll(/^(?:import|export)[^"']*?from "(\.[^"]+)"|^} from "(\.[^"]+)"|import\("(\.[^"]+)"\)/gm)].map(
    ([, a, b, c]) => relative(root, resolve(root, dirname(file), a ?? b ?? c ?? ""))
  )

/** All files that a file imports, directly or not, itself included. */
const reachable = (from: string): ReadonlySet<string> => {
  const seen = new Set([from])
  for (const file of seen) for (const next of importsOf(file)) seen.add(next)
  return seen
}

/** Names of exported functions and classes. */
const exported = (file: string): ReadonlyArray<string> =>
  [...text(file).matchAll(/^export (?:const (?=\w+ = (?:\(|<|async))|function |class )(\w+)/gm)].map(
    ([, name]) => name ?? ""
  )

/** Decisions that the simulation must take from the operator, because it exists to test them. */
const decisions = [
  "src/domain/sessions/session-plan.ts",
  "src/domain/sessions/child-plan.ts",
  "src/domain/sessions/liveness.ts",
  "src/domain/sessions/heartbeat.ts",
  "src/domain/sessions/connect-verdict.ts",
  "src/domain/relay/router.ts",
  "src/domain/relay/table.ts",
  "src/domain/relay/port-locks.ts",
  "src/domain/targets/pod-choice.ts",
  "src/domain/copies/copy-life.ts",
  "src/domain/copies/copy-request.ts",
  "src/domain/copies/copied-pod.ts",
  "src/domain/copies/scaled-down.ts",
  "src/domain/policies/policing.ts",
  "src/domain/policies/session-policies.ts",
  "src/domain/branches/branch-plan.ts",
  "src/domain/branches/environment-plan.ts",
  "src/domain/branches/sync/origin-plan.ts",
  "src/domain/branches/sync/copy-plan.ts",
  "src/app/branches/branch-controller.ts",
  "src/app/branches/sync/branch-sync-capability.ts",
  "src/app/api/operator-facade.ts",
  "src/app/copies/copy-target-capability.ts",
  "src/app/policies/policy-capability.ts",
  "src/app/kernel/controller.ts",
  "src/app/kernel/reflector.ts",
  "src/app/sessions/primary/multi-cluster-session-manager.ts",
  "src/app/sessions/member/cluster-session-controller.ts",
  "src/domain/fleet/health.ts",
  "src/app/fleet/fleet.ts",
  "src/app/relay/serve-client.ts",
  "src/app/operator/operator.ts"
]

describe("the simulation", () => {
  it("runs the product's own decisions", () => {
    const used = reachable(`${simulation}world/operator-host.ts`)
    expect(decisions.filter((file) => !used.has(file))).toEqual([])
    expect(reachable(`${simulation}world/sim-client.ts`)).toContain("lab/client/client.ts")
  })

  it("has no second implementation of anything that the product has", () => {
    // A verb has the name of the act in the program.
    const own = files.filter((file) => file.startsWith(simulation) && !file.includes("/story/verbs/"))
    const product = new Map(
      files
        .filter((file) => !file.startsWith(simulation))
        .flatMap((file) => exported(file).map((name) => [name, file] as const))
    )
    const twice = own.flatMap((file) =>
      exported(file).flatMap((name) => (product.has(name) ? [`${name}: ${file} and ${product.get(name)}`] : []))
    )
    expect(twice).toEqual([])
  })

  it("is imported by nothing but the program", () => {
    const users = files.filter(
      (file) => !file.startsWith(simulation) && importsOf(file).some((target) => target.startsWith(simulation))
    )
    expect(users).toEqual(["lab/lab.ts"])
  })

  it("takes time, chance and turns from the kernel alone", () => {
    const world = files.filter((file) =>
      ["kernel", "world", "story", "invariants"].some((room) => file.startsWith(`${simulation}${room}/`))
    )
    const forbidden =
      /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\bsetTimeout\b|\bsetInterval\b|\bsetImmediate\b|\bqueueMicrotask\b|\bnew Promise\b|\bawait \b|Effect\.promise|tryPromise|performance\.now|process\.hrtime/
    expect(world.filter((file) => forbidden.test(text(file)))).toEqual([])
  })
})
