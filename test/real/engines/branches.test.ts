import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { KubeConfig } from "@kubernetes/client-node"
import { Effect, Exit, Scope } from "effect"
import { afterAll, describe } from "vitest"
import { startWorkloadControllers } from "../../../lab/cluster/controllers/workload-controllers.ts"
import { startEmbeddedCluster } from "../../../lab/cluster/embedded-cluster.ts"
import { startKubelet } from "../../../lab/cluster/node/kubelet.ts"
import { localNodeStore } from "../../../lab/cluster/node/node-store.ts"
import { loopbackAddresses } from "../../../lab/cluster/node/pod-addresses.ts"
import { makeKubeApi } from "../../../src/adapters/kubernetes/kube-api-http.ts"
import { subnetOf } from "../../address-plan.ts"
import { describeWith } from "../../support/describe-with.ts"
import { branchSuite } from "./branch-suite.ts"
import { postgresqlImages } from "./flyway.ts"

const crd = new URL("../../../crds/branchdatabases.yaml", import.meta.url)

describeWith(["PostgreSQL", "Flyway"], "branches of databases", () => {
  describe("at the embedded API server", () => {
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
        const cluster = yield* startEmbeddedCluster({ name: "c", directory })
        yield* startWorkloadControllers(cluster.store)
        const subnet = subnetOf("branches")
        yield* startKubelet({
          store: localNodeStore(cluster.store),
          nodeName: "node",
          directory: join(directory, "n"),
          subnet,
          images: postgresqlImages(loopbackAddresses)
        })
        cluster.apply(readFileSync(crd, "utf8"))
        const config = new KubeConfig()
        config.loadFromFile(cluster.kubeconfigPath)
        const api = yield* makeKubeApi(config, "c")
        return { api, reach: (address: string) => address, sourceAddress: `127.${subnet + 1}.0.1` }
      }).pipe(Scope.provide(scope), Effect.runPromise)
    )
  })
})
