import { subnetOf } from "../address-plan.ts"
import { clientCertificates } from "./client-certificates.ts"
import { usePlayground } from "./harness.ts"

clientCertificates("embedded clusters", (options) =>
  usePlayground({ ...options, subnet: subnetOf("real client, certificates") })
)
