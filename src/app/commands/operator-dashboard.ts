/**
 * The page of use at an ingress, by an operator's settings: its reports are those that the operator answers itself.
 * Loaded only where it is served.
 */

import { Deferred, Effect, Redacted, type Scope, Stream } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { openIdProvider } from "../../adapters/oidc/openid-provider.ts"
import { makeSeal } from "../../adapters/oidc/seal.ts"
import { mirrordClusters } from "../../domain/resources/mirrord-cluster.ts"
import { mirrordOperators } from "../../domain/resources/mirrord-operator.ts"
import { readResource } from "../../domain/resources/resource-descriptor.ts"
import { dashboardPaths, neededClaims } from "../../domain/usage/dashboard-access.ts"
import type { Facade } from "../api/facade-gate.ts"
import type { UsageReportName } from "../api/operator-facade.ts"
import type { ApiError } from "../api/status.ts"
import { type DashboardError, type DashboardOptions, serveDashboard } from "../dashboard/serve-dashboard.ts"
import type { Settings } from "../operator/settings.ts"
import type { Unanswered } from "./overview/ask-cluster.ts"
import { usageReaderBy } from "./overview/read-usage.ts"
import { fileRoutes, usagePath, usageRoutes } from "./ui/usage-routes.ts"
import { type UsageConnection, usageClusters, type WatchedUsage, watchUsage } from "./ui/watch-usage.ts"

const fix = "The page asks again by itself; the operator's log says more."

const away = "The operator does not answer, so this is the last known state. The page asks again by itself."

const unanswered = ({ message }: { readonly message: string }): Unanswered => ({ message, fix })

type Answered = <A>(request: Effect.Effect<A, ApiError>) => Effect.Effect<A, Unanswered>

/** `notLeading`: is run where this replica is not the leader, the only reason for 503 here (app/api/status.ts). */
const answeredBy =
  (notLeading: Effect.Effect<void>): Answered =>
  (request) =>
    request.pipe(
      Effect.tapError(({ code }) => (code === 503 ? notLeading : Effect.void)),
      Effect.mapError(unanswered)
    )

/** The reports by their paths below `reports`. */
const reports = new Map<string, UsageReportName>([
  ["/usage", "usage"],
  ["/usage/trends", "trends"],
  ["/clusters", "clusters"]
])

/** Reads the operator's own reports and clusters. */
const connectionTo = (facade: Facade, answered: Answered): UsageConnection => ({
  ...usageReaderBy((path) => {
    const { pathname, searchParams } = new URL(path, "http://operator")
    const which = reports.get(pathname) ?? "usage"
    return Effect.map(answered(facade.usageReport(which, searchParams)), ({ body }): unknown => JSON.parse(`${body}`))
  }),
  clusters: usageClusters(
    Effect.flatMap(answered(facade.describe), (object) =>
      Effect.mapError(Effect.fromResult(readResource(mirrordOperators, object)), unanswered)
    ),
    Effect.flatMap(answered(facade.listClusters), (objects) =>
      Effect.forEach(objects, (object) =>
        Effect.mapError(Effect.fromResult(readResource(mirrordClusters, object)), unanswered)
      )
    )
  )
})

/**
 * Follows the reports of this replica while it leads. Then the stream ends, so that the browser comes back through the
 * Service, which leads it to the new leader.
 */
const watchWhileLeading = (facade: Facade): WatchedUsage => {
  const watch = (notLeading: Effect.Effect<void>) =>
    watchUsage(Effect.succeed(connectionTo(facade, answeredBy(notLeading))))
  return {
    file: watch(Effect.void).file,
    pages: (wish) =>
      Stream.unwrap(
        Effect.map(Deferred.make<void>(), (over) => {
          const { pages } = watch(Effect.andThen(Deferred.succeed(over, undefined), Effect.never))
          return Stream.interruptWhen(pages(wish), Deferred.await(over))
        })
      )
  }
}

/** The page, for a facade; `context`: what it is about. */
export const dashboardPage = (
  facade: Facade,
  context: string
): Effect.Effect<DashboardOptions["page"], never, Scope.Scope> =>
  HttpRouter.toHttpEffect(
    HttpRouter.addAll([
      HttpRouter.route("GET", "/", HttpServerResponse.redirect(usagePath, { status: 303 })),
      ...fileRoutes,
      ...usageRoutes({
        context,
        hasFleet: false,
        away,
        logIn: dashboardPaths.logIn,
        usage: watchWhileLeading(facade)
      })
    ])
  )

/** Serves the page until the scope ends; the settings have been judged (app/operator/settings.ts). */
export const operatorDashboard = Effect.fnUntraced(function* (
  { fallback, host, values }: Settings,
  facade: Facade
): Effect.fn.Return<void, DashboardError, Scope.Scope> {
  const {
    dashboardHost: served = "",
    oidcClientId = "",
    oidcClientSecret = Redacted.make(""),
    oidcIssuer = ""
  } = values
  const { dashboardPort: port, oidcEmails: emails, oidcGroups: groups, oidcGroupsClaim: groupsClaim } = values
  const rules = { emails, groups, groupsClaim }
  yield* serveDashboard({
    listenAt: { host, port },
    fallback: fallback === undefined ? undefined : { host: fallback.host, port },
    served,
    rules,
    seal: makeSeal(oidcClientSecret),
    provider: openIdProvider({
      issuer: oidcIssuer,
      clientId: oidcClientId,
      clientSecret: oidcClientSecret,
      scopes: values.oidcScopes,
      redirectUri: `https://${served}${dashboardPaths.loggedIn}`,
      claims: neededClaims(rules)
    }),
    page: yield* dashboardPage(facade, served)
  })
})
