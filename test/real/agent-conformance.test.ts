/** mirrord's own agent answers what the reference agent's cases say. */

import { startReal } from "../lab/agent/agent-harness.ts"
import { environment } from "../lab/agent/conformance-cases.ts"
import { agentConformance } from "../lab/agent/conformance-suite.ts"
import { describeReal } from "./harness.ts"

describeReal("without a target", ["agent"], ({ agent }) => {
  // The certificate is not in the environment, which the cases compare.
  agentConformance("the real agent", (operator) =>
    startReal(agent, environment, operator === undefined ? [] : [`--operator-tls-cert-pem=${operator.certificatePem}`])
  )
})
