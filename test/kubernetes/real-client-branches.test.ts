/** Branches of a real PostgreSQL with mirrord's own client on real control planes, and with the chart's rights. */

import { publishedAddresses } from "../../lab/cluster/node/pod-addresses.ts"
import { subnetOf } from "../address-plan.ts"
import { clientBranches } from "../real/branches.ts"
import { describePostgresql, postgresqlImage } from "../real/engines/postgresql-server.ts"
import { useKubernetesPlayground } from "../real/harness.ts"
import { describeKubernetes } from "./describe-kubernetes.ts"

describeKubernetes("the real client", (assets) => {
  describePostgresql("with PostgreSQL", () => {
    clientBranches("real control planes", () => {
      const subnet = subnetOf("real client, kubernetes, branches")
      const addresses = publishedAddresses(subnet)
      const images = new Map([["docker.io/library/postgres", postgresqlImage(addresses)]])
      return {
        real: useKubernetesPlayground(assets, { topology: "primary-default", hasBranches: true, images, subnet }),
        sourceAddress: `127.${subnetOf("real client, kubernetes, the source of branches")}.0.1`,
        reach: addresses.real
      }
    })
  })
})
