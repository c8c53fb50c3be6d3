import { availableParallelism } from "node:os"
import { defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"
import { type Suite, suites } from "./test/suites.ts"
import { propertySeed } from "./test/support/property-seed.ts"

/** Suites that cannot run on this machine, as scripts/test.mjs found. */
const leftOut = (process.env["BRAID_TEST_LEFT_OUT"] ?? "").split(",")
const filesOf = (fits: (suite: Suite, name: string) => boolean): Array<string> =>
  Object.entries<Suite>(suites).flatMap(([name, suite]) => (fits(suite, name) ? [`test/${name}.test.ts`] : []))
const runnable = (isLong: boolean): Array<string> =>
  filesOf(({ long = false }, name) => long === isLong && !leftOut.includes(name))

/**
 * The longest first; files that are not here follow by their names. Of `npm test` some wait more than they work: they
 * stand between those that only work, so that there is always work for the cores.
 */
const longest = [
  "simulation/random",
  "adapters/kubernetes/serve-lanes",
  "app/queues/fleet-splits",
  "lab/cluster/http/aggregation",
  "lab/simulation/scenarios",
  "app/branches/sync/two-embedded-clusters",
  "simulation/mutants/mutants",
  "app/kernel/reflector-embedded",
  "app/commands/ui/ui-playground",
  "museum/museum",
  "simulation/sharding",
  "simulation/branches",
  "simulation/outbound",
  "kubernetes/real-client",
  "lab/playground/queues/queue-story",
  "real/splits",
  "node/queues",
  "node/sessions",
  "node/pods",
  "charts/installed",
  "node/steals",
  "kubernetes/member-away",
  "real/branches",
  "real/fleet-copy-targets",
  "lab/simulation/command/simulate-command",
  "lab/playground/playground",
  "lab/fuzz/fuzz",
  "real/client-features",
  "real/client-behaviour",
  "real/copy-targets",
  "node/playground",
  "node/people",
  "charts/values-act",
  "real/failover",
  "real/client-ends",
  "charts/rights-suffice",
  "simulation/rotations",
  "simulation/sweep",
  "simulation/one-failure",
  "simulation/one-failure-with-branches",
  "simulation/branch-status-lags"
]

/**
 * Begins with what takes longest: what is left for the end runs alone, while the other workers have nothing to do. The
 * order is the same in every run: vitest's own follows how long files took the last time.
 */
class LongestFirst extends BaseSequencer {
  override sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    const place = ({ moduleId }: TestSpecification): number => {
      const found = longest.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`))
      return found === -1 ? longest.length : found
    }
    const byName = files.toSorted((one, other) => (one.moduleId < other.moduleId ? -1 : 1))
    return Promise.resolve(byName.toSorted((one, other) => place(one) - place(other)))
  }
}

// The heights of CONTRIBUTING.md: scripts/test.mjs runs a project of these for each of its commands.
export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    pool: "forks",
    // Node loads the files as it loads the program. Vite's runner makes each use of an import a call of a getter, which
    // costs stories a fifth of their time; its mocks are not used here.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // Five at least: with fewer, a small machine is idle for much of the time, in which tests wait for programs.
    maxWorkers: Math.max(5, availableParallelism() - 1),
    setupFiles: ["test/support/seed-properties.ts"],
    provide: { propertySeed: propertySeed() },
    coverage: { provider: "v8", include: ["src/**/*.ts"], reporter: ["text", "lcov"] },
    // No time here is an expectation: a test that hangs is to end some day, and one on a slow machine is to pass.
    testTimeout: 900_000,
    hookTimeout: 900_000,
    projects: [
      {
        extends: true,
        test: {
          name: "tests",
          // These keep nothing between files, and loading the modules again for each would take half of the time.
          isolate: false,
          // Simulated worlds are made of short-lived objects, which a large young generation collects for less.
          execArgv: ["--max-semi-space-size=64"],
          include: ["test/**/*.test.ts"],
          exclude: ["**/node_modules/**", "test/long/**", ...filesOf(() => true)]
        }
      },
      { extends: true, test: { name: "real", include: runnable(false) } },
      {
        extends: true,
        test: {
          name: "long",
          include: ["test/long/**/*.test.ts", ...runnable(true)],
          testTimeout: 7_200_000,
          hookTimeout: 7_200_000
        }
      }
    ]
  }
})
