import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Exit, Logger, Scope } from "effect"
import { afterAll, describe } from "vitest"
import { publishedAddresses } from "../../lab/cluster/node/pod-addresses.ts"
import { programsIn } from "../../lab/playground/kubernetes/programs.ts"
import { startRealCluster } from "../../lab/playground/kubernetes/real-cluster.ts"
import { subnetOf } from "../address-plan.ts"
import { branchSuite } from "../real/engines/branch-suite.ts"
import { postgresqlImages } from "../real/engines/flyway.ts"
import { describeWith } from "../support/describe-with.ts"
import { describeKubernetes } from "./describe-kubernetes.ts"

const crd = new URL("../../crds/branchdatabases.yaml", import.meta.url)

describeKubernetes("branches of databases", (assets) => {
  describeWith(["PostgreSQL", "Flyway"], "of PostgreSQL", () => {
    describe("at kube-apiserver", () => {
      const scope = Scope.makeUnsafe()
      // Short, for the sockets in it.
      const directory = mkdtempSync(join(tmpdir(), "b"))
      chmodSync(directory, 0o755)
      afterAll(async () => {
        await Effect.runPromise(Scope.close(scope, Exit.void))
        rmSync(directory, { recursive: true, force: true })
      })

      branchSuite(() =>
        Effect.gen(function* () {
          const subnet = subnetOf("branches on kubernetes")
          const addresses = publishedAddresses(subnet)
          const { cluster } = yield* startRealCluster({
            name: "k",
            programs: programsIn(assets),
            directory,
            subnet,
            serviceSubnet: subnet + 1,
            images: postgresqlImages(addresses)
          })
          yield* Effect.promise(() => cluster.plane.apply(readFileSync(crd, "utf8")))
          return { api: cluster.api, reach: addresses.real, sourceAddress: `127.${subnet + 2}.0.1` }
        }).pipe(Scope.provide(scope), Effect.provide(Logger.layer([])), Effect.runPromise)
      )
    })
  })
})
