/**
 * The check `credentials` of `braid doctor`: which kind of credentials is used, and when they end.
 *
 * Not here: whether the API server accepts them, which is the check `authentication`.
 */

import { withoutEnd } from "../../clean-text.ts"
import type { CloudAuth, MadeAuth } from "../../fleet/credentials/cluster-auth.ts"
import { judgeValidity, momentText, spanText, type Validity } from "../../fleet/credentials/validity.ts"
import type { ClusterFacts, CredentialFacts } from "./cluster-facts.ts"
import { type Finding, failed, ok, warning } from "./finding.ts"

/** The finding for credentials whose end is known, or that never end. `what`: the beginning of its sentence. */
const timed = (what: string, { from, until }: Validity, now: number, fix: string): Finding => {
  if (until === undefined) return ok("credentials", `${what}; it never expires.`)
  const left = spanText(until - now)
  switch (judgeValidity({ from, until }, now)) {
    case "NotYet":
      return failed(
        "credentials",
        `${what}; it is not valid before ${momentText(from ?? 0)}.`,
        "Check the clocks of both machines; if they are right, make new credentials."
      )
    case "Ended":
      return failed("credentials", `${what}; it expired ${spanText(now - until)} ago, ${momentText(until)}.`, fix)
    case "EndsSoon":
      return warning("credentials", `${what}; it expires in ${left}, ${momentText(until)}.`, fix)
    case "Valid":
      return ok("credentials", `${what}; it expires in ${left}, ${momentText(until)}.`)
  }
}

/** Words on an identity in a cloud. `missing`: a sentence for a service account without one. */
const cloudWords = {
  Eks: {
    cloud: "AWS",
    missing: "Its service account names no AWS role: give one in sa.roleArn, unless a Pod Identity does. ",
    often: "every 10 min"
  },
  Aks: {
    cloud: "Azure",
    missing: "Its service account names no client of Azure: give one in sa.azureClientId. ",
    often: "before its end"
  }
} as const

const placeOf = (auth: CloudAuth): string => {
  if (auth._tag === "Eks") return `for region ${auth.region ?? "unknown"} `
  return auth.tenantId === undefined ? "" : `of tenant ${auth.tenantId} `
}

/** How the operator makes credentials; the rest of a sentence. `identity`: as in the facts. */
const makingOf = (auth: MadeAuth, identity: string | undefined): string => {
  if (auth._tag === "ExecPlugin") return `asks the plugin of access provider ${auth.provider} for credentials`
  const by = identity === undefined || identity === "" ? `its ${cloudWords[auth._tag].cloud} identity` : identity
  return `makes tokens ${placeOf(auth)}with ${by}`
}

/** The finding for credentials that only the operator can make. */
const ofOperator = ({
  auth,
  identity,
  report
}: Extract<CredentialFacts, { readonly _tag: "CloudOfOperator" }>): Finding => {
  const what = `The operator ${makingOf(auth, identity)}`
  if (report?._tag === "Connected") return ok("credentials", `${what}, and the cluster accepts them.`)
  const annotation = auth._tag !== "ExecPlugin" && identity === "" ? cloudWords[auth._tag].missing : ""
  const why = report === undefined ? "; whether the cluster accepts them it does not say" : ` and says: ${report.why}`
  return (report === undefined ? warning : failed)(
    "credentials",
    `${what}${withoutEnd(why, ".")}.`,
    `${annotation}Run it as the operator, which makes ${auth._tag === "ExecPlugin" ? "them" : "a token"}: helm test.`
  )
}

/** The kind of credentials with which a cluster is asked, and how long they last. `renewal`: how to renew them. */
export const examineCredentials = ({ credentials, now, part }: ClusterFacts, renewal: string): Finding => {
  const fix = part === "own" ? "Log in again, or make a new kubeconfig." : renewal
  switch (credentials._tag) {
    case "Unusable":
      return failed("credentials", credentials.problem, credentials.fix)
    case "Cloud": {
      const { auth } = credentials
      if (auth._tag === "ExecPlugin") {
        const from = `Credentials by the plugin of access provider ${auth.provider}`
        return ok("credentials", `${from}; the operator asks for others before they end.`)
      }
      const { cloud, often } = cloudWords[auth._tag]
      const what = `A token ${placeOf(auth)}by the operator's ${cloud} identity`
      return ok("credentials", `${what}; the operator makes one ${often}.`)
    }
    case "CloudOfOperator":
      return ofOperator(credentials)
    case "Other":
      return ok("credentials", `Credentials of ${credentials.from}; when they expire cannot be told.`)
    case "Certificate":
      return timed(`Client certificate of ${credentials.from}`, credentials.validity, now, fix)
    case "Token": {
      const { claims, from, renewed } = credentials
      if (claims === undefined)
        return ok("credentials", `Bearer token of ${from}; it is no JWT, so when it expires cannot be told.`)
      const what = `Bearer token of ${from}${claims.subject === undefined ? "" : ` for ${claims.subject}`}`
      return renewed && judgeValidity(claims.validity, now) === "EndsSoon"
        ? ok("credentials", `${what}; the kubelet renews it.`)
        : timed(what, claims.validity, now, fix)
    }
  }
}
