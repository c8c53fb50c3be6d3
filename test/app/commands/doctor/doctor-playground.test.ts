import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { expect, it } from "vitest"
import { stringify } from "yaml"
import { startPlayground } from "../../../../lab/playground/playground.ts"
import { topology } from "../../../../lab/playground/topology.ts"
import { memberRights, noParts, ownRights } from "../../../../src/domain/commands/doctor/needed-rights.ts"
import { subnetOf } from "../../../address-plan.ts"
import { quietNode } from "../../../support/quiet-node.ts"
import { runBraid } from "../../../support/run-braid.ts"
import { grant } from "./grant.ts"

/** However slow this machine is, ms. */
const patience = 600_000

it(
  "braid doctor has nothing to say against a fleet that is well, and braid status shows it",
  async () => {
    const directory = mkdtempSync(join(tmpdir(), "braid-doctor-playground-"))
    try {
      const { doctor, status } = await Effect.runPromise(
        Effect.gen(function* () {
          const { clusters, primary } = yield* startPlayground({
            topology: topology("outbound", subnetOf("braid doctor")),
            directory,
            sessionTtlSecs: 60,
            remoteSessionTimeoutSecs: 60,
            progress: () => Effect.void
          })
          for (const { cluster, description } of clusters) {
            // As the chart does; the playground's own roles are narrower.
            const own = ownRights(
              description.isPrimary ? { _tag: "Primary", managementOnly: true, isDefault: false } : { _tag: "Single" },
              { ...noParts, switches: { OPERATOR_CELL: description.isPrimary } }
            )
            cluster.apply(
              [...grant("mirrord-operator", own), ...grant("mirrord-operator-envoy", memberRights([]))]
                .map((object) => stringify(object))
                .join("---\n")
            )
          }
          const env = {
            MIRRORD_OPERATOR_NAMESPACE: "mirrord",
            OPERATOR_CELL: "true",
            MIRRORD_MULTICLUSTER_CONFIG: join(directory, "multicluster-config.yaml"),
            MIRRORD_CLUSTERS_CONFIG: join(directory, "clusters-config.yaml"),
            KUBECONFIG: join(directory, "primary-operator.kubeconfig")
          }
          // On a machine that stalls an operator may be away for a moment; that is told truly, and is not what is asked
          // here.
          const examined = Effect.promise(() =>
            runBraid(["doctor", "--timeout-secs", "300", "--tunnels-for", "2"], env)
          ).pipe(Effect.repeat({ until: ({ code }) => code === 0, times: 10 }))
          return {
            doctor: yield* examined,
            status: yield* Effect.promise(() => runBraid(["status", "--kubeconfig", primary.cluster.kubeconfigPath]))
          }
        }).pipe(Effect.scoped, Effect.provide(quietNode))
      )
      expect(doctor.output.split("\n").filter((line) => /^ {2}(FAIL|WARN|-) /u.test(line))).toEqual([])
      expect(doctor.output).toMatch(
        /\n {2}ok {4}operator {8}Operator 3\.250\.0\+braid\.\S+ serves as a primary that only manages, protocol 1\.29\.0\.\n/u
      )
      expect(doctor.output).toMatch(/\n {2}ok {4}reach {11}Its tunnel has held for these 2 s, and began \w+ ago\.\n/u)
      expect(doctor.output).toMatch(/\nAll is well in 3 clusters\.\n$/u)
      expect([doctor.code, doctor.errors]).toEqual([0, ""])
      expect(status.output).toMatch(
        /^OPERATOR +PROTOCOL +PART +SESSIONS\n3\.250\.0\+braid\S+ +1\.29\.0 +primary +0\n\nCLUSTER +STATE +OPERATOR +CHECKED +REASON\ncluster-a +(connected|error) [^\n]+\ncluster-b +(connected|error) [^\n]+\n$/u
      )
      expect([status.code, status.errors]).toEqual([0, ""])
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  },
  patience
)
