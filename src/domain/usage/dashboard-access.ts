/**
 * Decides who may see the page of use at an ingress, and what is done with a request there. Everyone logs in at the
 * provider that the administrator names (OpenID Connect), and must be of a group or have an address that is listed.
 *
 * Not here: the login itself (adapters/oidc), and the server (app/dashboard).
 */

import { cleanText, quoted, textLimits } from "../clean-text.ts"
import { isObject } from "../json.ts"

/** The people who may see the page. With empty lists it shows nothing to anyone. */
export interface DashboardRules {
  readonly groups: ReadonlyArray<string>
  /** E-mail addresses, compared without case. */
  readonly emails: ReadonlyArray<string>
  /** The claim that has a person's groups. */
  readonly groupsClaim: string
}

/** A person who has logged in. */
export interface DashboardPerson {
  readonly name: string
  /** Those of the person's groups that are listed. */
  readonly groups: ReadonlyArray<string>
  /** The address, if the provider has verified it. */
  readonly email: string | undefined
}

/** The texts of a claim that holds one or a list of them. */
const textsOf = (claim: unknown): ReadonlyArray<string> =>
  (Array.isArray(claim) ? claim : [claim]).filter((text) => typeof text === "string")

/** The claims by which a person is judged. */
export const neededClaims = ({ emails, groups, groupsClaim }: DashboardRules): ReadonlyArray<string> => [
  ...(groups.length === 0 ? [] : [groupsClaim]),
  ...(emails.length === 0 ? [] : ["email", "email_verified"])
]

/** The person whom claims are about. An address that is not said to be verified counts as none. */
export const personOf = (claims: Readonly<Record<string, unknown>>, rules: DashboardRules): DashboardPerson => {
  const groups = textsOf(claims[rules.groupsClaim])
  const [email] = claims["email_verified"] === true ? textsOf(claims["email"]) : []
  const [name = ""] = [claims["preferred_username"], claims["email"], claims["sub"]].flatMap(textsOf)
  return {
    name: cleanText(name, textLimits.name),
    groups: rules.groups.filter((group) => groups.includes(group)),
    email
  }
}

/** A person as a cookie has kept it; `undefined` for what is none. */
export const readPerson = (kept: unknown): DashboardPerson | undefined => {
  if (!isObject(kept) || typeof kept["name"] !== "string") return undefined
  const { email, groups, name } = kept
  return { name, groups: textsOf(groups), email: typeof email === "string" ? email : undefined }
}

/** Why a person does not see the page, a sentence; `undefined` for a person who does. */
export const whyNotShown = (person: DashboardPerson, { emails, groups }: DashboardRules): string | undefined => {
  const { email } = person
  const isListed =
    person.groups.some((group) => groups.includes(group)) ||
    (email !== undefined && emails.some((listed) => listed.toLowerCase() === email.toLowerCase()))
  if (isListed) return undefined
  const known = email === undefined ? "no verified address" : `the address ${quoted(email)}`
  return (
    `You are logged in as ${quoted(person.name)}, with ${known} and in none of the groups that may see this page. ` +
    "Ask who administers braid to list you in dashboard.oidc.groups or dashboard.oidc.emails."
  )
}

/** The parts of a request that decide. */
export interface DashboardRequest {
  readonly method: string
  /** Path without its query; `undefined` if it is not as a browser writes it. */
  readonly path: string | undefined
  /** Header `Host`. */
  readonly host: string | undefined
  /** Whether the request has the cookie of a person. */
  readonly isOfPerson: boolean
}

export type DashboardAdmission =
  | { readonly _tag: "Shown" }
  /** A load balancer asks whether the page is served. */
  | { readonly _tag: "Healthy" }
  /** The browser is sent to the provider. */
  | { readonly _tag: "LogIn" }
  /** The browser comes from the provider. */
  | { readonly _tag: "LoggedIn" }
  | { readonly _tag: "LogOut" }
  | { readonly _tag: "Refused"; readonly status: 400 | 401 | 405 | 421; readonly message: string }

/** The page, and the paths beside those of its parts. */
export const dashboardPaths = {
  page: "/usage",
  logIn: "/login",
  loggedIn: "/callback",
  logOut: "/logout",
  health: "/healthz"
} as const

/** Where a browser stands that loads the page. A part of the page, such as a file, is never the way to the provider. */
const isOfPage = (path: string): boolean => path === "/" || path === dashboardPaths.page

/** Decides on a request. `served`: the name of the page's host. */
export const admitDashboard = (request: DashboardRequest, served: string): DashboardAdmission => {
  const { host, isOfPerson, method, path } = request
  const refused = (status: 400 | 401 | 405 | 421, message: string): DashboardAdmission => ({
    _tag: "Refused",
    status,
    message
  })
  const isRead = method === "GET" || method === "HEAD"
  // Load balancers ask pods by their addresses.
  if (path === dashboardPaths.health && isRead) return { _tag: "Healthy" }
  // Nothing but the ingress asks by this name, and cookies are of this name alone.
  if (host?.toLowerCase() !== served) return refused(421, `This page is https://${served}/.`)
  if (!isRead) return refused(405, "This page is only read.")
  if (path === undefined) return refused(400, "This path is not in the form in which browsers write it.")
  if (path === dashboardPaths.logIn) return { _tag: "LogIn" }
  if (path === dashboardPaths.loggedIn) return { _tag: "LoggedIn" }
  if (path === dashboardPaths.logOut) return { _tag: "LogOut" }
  if (isOfPerson) return { _tag: "Shown" }
  if (isOfPage(path)) return { _tag: "LogIn" }
  return refused(401, `You are not logged in here; log in first: https://${served}${dashboardPaths.logIn}`)
}
