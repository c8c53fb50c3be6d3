import { loopbackAddresses } from "../../lab/cluster/node/pod-addresses.ts"
import { subnetOf } from "../address-plan.ts"
import { clientBranches } from "./branches.ts"
import { describePostgresql, postgresqlImage } from "./engines/postgresql-server.ts"
import { usePlayground } from "./harness.ts"

describePostgresql("with PostgreSQL", () => {
  clientBranches("embedded clusters", () => {
    const subnet = subnetOf("real client, branches")
    const images = new Map([["docker.io/library/postgres", postgresqlImage(loopbackAddresses)]])
    return {
      real: usePlayground({ topology: "primary-default", hasBranches: true, images, subnet }),
      sourceAddress: `127.${subnet + 2}.0.1`,
      reach: (address) => address
    }
  })
})
