import { accessCases } from "./access.ts"
import { builtInKindsCases } from "./built-in-kinds.ts"
import type { ConformanceCase } from "./context.ts"
import { customResourcesCases } from "./custom-resources.ts"
import { deletionCases } from "./deletion.ts"
import { discoveryCases } from "./discovery.ts"
import { endpointsCases } from "./endpoints.ts"
import { objectsCases } from "./objects.ts"
import { pageCases } from "./pages.ts"
import { patchesCases } from "./patches.ts"
import { podLogCases } from "./pod-logs.ts"
import { refusalCases } from "./refusals.ts"
import { serviceCases } from "./services.ts"
import { watchesCases } from "./watches.ts"
import { webhookCases } from "./webhooks.ts"

/**
 * The behaviour of an API server on which our programs and tests rely. A difference between the embedded server and a
 * real one is a bug of the embedded server.
 */
export const conformanceCases: ReadonlyArray<ConformanceCase> = [
  ...discoveryCases,
  ...objectsCases,
  ...pageCases,
  ...watchesCases,
  ...deletionCases,
  ...patchesCases,
  ...customResourcesCases,
  ...builtInKindsCases,
  ...accessCases,
  ...podLogCases,
  ...refusalCases,
  ...serviceCases,
  ...endpointsCases,
  ...webhookCases
]
