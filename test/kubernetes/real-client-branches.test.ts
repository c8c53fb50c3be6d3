/** Branches of a real PostgreSQL with mirrord's own client on real control planes, and with the chart's rights. */

import { publishedAddresses } from "../../lab/cluster/node/pod-addresses.ts"
import { operatorNamespace, workloadNamespace } from "../../lab/playground/manifests.ts"
import { subnetOf } from "../address-plan.ts"
import { clientBranches } from "../real/branches.ts"
import { postgresqlImages } from "../real/engines/flyway.ts"
import { useKubernetesPlayground } from "../real/harness.ts"
import { describeWith } from "../support/describe-with.ts"
import { describeKubernetes } from "./describe-kubernetes.ts"

describeKubernetes("the real client", (assets) => {
  describeWith(["PostgreSQL", "Flyway"], "with PostgreSQL", () => {
    const subnet = subnetOf("real client, kubernetes, branches")
    const sourceAddress = `127.${subnetOf("real client, kubernetes, the source of branches")}.0.1`
    /** A playground whose default cluster has this network. */
    const playground = (topology: "primary-default" | "management", network: number) => {
      const { real: reach, ...addresses } = publishedAddresses(network)
      const images = postgresqlImages({ ...addresses, real: reach })
      const real = useKubernetesPlayground(assets, { topology, hasBranches: true, images, subnet })
      return { real, sourceAddress, reach }
    }

    clientBranches("real control planes, the primary is the default", () => ({
      ...playground("primary-default", subnet),
      orders: workloadNamespace
    }))

    clientBranches("real control planes, a member is the default", () => ({
      ...playground("management", subnet + 1),
      orders: operatorNamespace
    }))
  })
})
