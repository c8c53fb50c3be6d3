import { availableParallelism } from "node:os"
import { defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"
import { propertySeed } from "./test/support/property-seed.ts"
import { isCi } from "./test/support/tested-commit.ts"

const long = process.env["BRAID_TEST_LONG"] === "true"

/**
 * Suites that start whole systems of real programs: clients, agents, operators, control planes, Helm. How long these
 * take, nobody promises, and what they do depends on what else the machine does.
 */
const programs = [
  "test/real/**",
  "test/kubernetes/**",
  "test/charts/**",
  "test/lab/playground/**",
  "test/lab/fuzz/fuzz.test.ts"
]
const always = ["**/node_modules/**", ...(long ? [] : ["test/long/**"])]

/** Minutes each, the longest first. vitest would begin with the largest files, and these are small. */
const longest = [
  "simulation/branches",
  "simulation/random",
  "kubernetes/real-client",
  "kubernetes/real-client-copies",
  "charts/installed",
  "kubernetes/real-agent",
  "simulation/mutants/mutants",
  "kubernetes/real-client-sessions",
  "kubernetes/real-client-features",
  "kubernetes/member-away",
  "real/branches",
  "real/fleet-copy-targets",
  "lab/simulation/command/simulate-command",
  "kubernetes/real-client-branches",
  "real/client-features",
  "real/client-behaviour",
  "real/copy-targets",
  "real/real-agent",
  "charts/values-act",
  "real/failover",
  "simulation/sharding",
  "kubernetes/failover",
  "real/client-ends",
  "charts/rights-suffice",
  "simulation/rotations",
  "simulation/sweep"
]

/** Begins with what takes longest: what is left for the end runs alone, while the other workers have nothing to do. */
class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    const place = ({ moduleId }: TestSpecification): number => {
      const found = longest.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`))
      return found === -1 ? longest.length : found
    }
    return (await super.sort(files)).toSorted((one, other) => place(one) - place(other))
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    pool: "forks",
    // Five at least: with fewer, a small machine is idle for much of the time, in which tests wait for programs.
    maxWorkers: Math.max(5, availableParallelism() - 1),
    setupFiles: ["test/support/seed-properties.ts"],
    provide: { propertySeed: propertySeed() ?? null },
    coverage: { provider: "v8", include: ["src/**/*.ts"], reporter: ["text", "lcov"] },
    // No time here is an expectation: a test that hangs is to end some day, and one on a slow machine is to pass.
    projects: [
      {
        extends: true,
        test: {
          name: "tests",
          // These keep nothing between files, and loading the modules anew for each would take half of the time.
          isolate: false,
          include: ["test/**/*.test.ts"],
          exclude: [...always, ...programs],
          testTimeout: 180_000,
          hookTimeout: 300_000
        }
      },
      {
        extends: true,
        test: {
          name: "programs",
          include: programs.map((folder) => folder.replace(/\*\*$/, "**/*.test.ts")),
          exclude: always,
          testTimeout: 900_000,
          hookTimeout: 900_000,
          // Only here, and never in silence: scripts/test.mjs names what passed on the second try.
          retry: isCi ? 1 : 0
        }
      }
    ]
  }
})
