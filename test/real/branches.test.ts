import { loopbackAddresses } from "../../lab/cluster/node/pod-addresses.ts"
import { operatorNamespace, workloadNamespace } from "../../lab/playground/manifests.ts"
import { subnetOf } from "../address-plan.ts"
import { describeWith } from "../support/describe-with.ts"
import { branchCases, memberBranchCases } from "./branch-cases.ts"
import { clientBranches } from "./branches.ts"
import { postgresqlImages } from "./engines/flyway.ts"
import { usePlayground } from "./harness.ts"

const images = postgresqlImages(loopbackAddresses)

describeWith(["PostgreSQL", "Flyway"], "with PostgreSQL", () => {
  clientBranches(
    "the primary is the default",
    () => {
      const subnet = subnetOf("real client, branches")
      return {
        real: usePlayground({ topology: "primary-default", hasBranches: true, images, subnet }),
        orders: workloadNamespace,
        sourceAddress: `127.${subnet + 2}.0.1`
      }
    },
    branchCases
  )

  clientBranches(
    "a member is the default",
    () => {
      const subnet = subnetOf("real client, branches at a member")
      return {
        real: usePlayground({
          topology: "management",
          hasBranches: true,
          branchEngines: ["pg", "mysql"],
          primaryBranchEngines: ["pg", "mariadb"],
          images,
          subnet
        }),
        orders: operatorNamespace,
        sourceAddress: `127.${subnet + 3}.0.1`
      }
    },
    memberBranchCases
  )
})
