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

/** Minutes each. vitest would begin with the largest files, and these are small. */
const longest = [
  "simulation/random",
  "simulation/branches",
  "kubernetes/real-client-sessions",
  "kubernetes/real-client-copies",
  "kubernetes/real-client-features",
  "real/fleet-copy-targets",
  "real/copy-targets",
  "real/management",
  "real/primary-default",
  "kubernetes/real-client",
  "charts/installed",
  "kubernetes/member-away",
  "real/failover",
  "real/client-behaviour",
  "real/client-ends",
  "kubernetes/failover",
  "kubernetes/real-client-branches",
  "real/branches"
]

/** Begins with what takes longest: what is left for the end runs alone, while the other workers have nothing to do. */
class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    const isLong = ({ moduleId }: TestSpecification): boolean =>
      longest.some((name) => moduleId.endsWith(`/test/${name}.test.ts`))
    const sorted = await super.sort(files)
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))]
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
