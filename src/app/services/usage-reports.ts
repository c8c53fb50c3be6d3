/** The reports on use, which the capability that records it provides. */

import { Context, Effect } from "effect"
import type { ReportAnswer, UsageReportName } from "../api/operator-facade.ts"
import { type ApiError, notFound } from "../api/status.ts"

export class UsageReports extends Context.Service<
  UsageReports,
  {
    /** `search`: the parameters of the request, not yet checked. */
    readonly answer: (which: UsageReportName, search: URLSearchParams) => Effect.Effect<ReportAnswer, ApiError>
  }
>()("braid/app/UsageReports") {}

/** The reports of an operator that records no use. */
export const noUsage: UsageReports["Service"] = {
  answer: () =>
    Effect.fail(
      notFound(
        "The use of sessions is not recorded here: set the chart's value dashboard.enabled to true in the cluster of " +
          "the primary."
      )
    )
}
