/**
 * The checks `reach` and `certificate` of `braid doctor`: whether the API server can be reached, and whether its
 * certificate is good. Nothing is asked with credentials before both are.
 *
 * Not here: the handshake itself (adapters/kubernetes/cluster-probe.ts).
 */

import { judgeValidity, momentText, spanText } from "../../fleet/credentials/validity.ts"
import type { ClusterFacts, ConnectionFacts } from "./cluster-facts.ts"
import { type Finding, failed, ok, skipped, warning } from "./finding.ts"

/** The fix for an error of the network, by the code of the operating system. */
const networkFix = (code: string, { name, part, server }: ClusterFacts): string => {
  const setting = part === "own" ? "the kubeconfig" : `operator.multiCluster.clusters.${name}.server`
  switch (code) {
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `Check the host name in ${setting}, and that this machine's DNS knows it.`
    case "ECONNREFUSED":
      return `Nothing listens at ${server}: check the port in ${setting}, and that the API server runs.`
    case "ECONNRESET":
    case "EPROTO":
    case "ERR_SSL_WRONG_VERSION_NUMBER":
    case "ERR_SSL_PACKET_LENGTH_TOO_LONG":
      return (
        `What answers at ${server} does not speak TLS as an API server does: check scheme and port in ${setting}, ` +
        "and proxies on the way."
      )
    default:
      return `Check firewalls, routes and network policies from here to ${server}, and the address in ${setting}.`
  }
}

type Connected = ConnectionFacts & { readonly _tag: "Connected" }
type ShownCertificate = NonNullable<Connected["certificate"]>

/** Where the CA of the API server is configured. */
const authoritySetting = ({ name, part }: ClusterFacts): string =>
  part === "own" ? "certificate-authority-data of the kubeconfig" : `operator.multiCluster.clusters.${name}.caData`

/** A certificate that is in its time and yet not trusted. `code`: Node's reason. */
const distrusted = (
  code: string,
  { issuer, subject }: ShownCertificate,
  { hasOwnAuthority }: Connected,
  facts: ClusterFacts
): Finding => {
  const setting = authoritySetting(facts)
  switch (code) {
    case "ERR_TLS_CERT_ALTNAME_INVALID":
      return failed(
        "certificate",
        `The API server's certificate (${subject}) is not made out to the host in ${facts.server}.`,
        "Use a host name or address that the certificate names, or add this one to the certificate."
      )
    case "CERT_HAS_EXPIRED":
      return failed(
        "certificate",
        `A CA certificate above the API server's own (issued by ${issuer}) has ended (${code}).`,
        `Renew that CA, and what it has signed, and set ${setting} to it.`
      )
    default:
      return failed(
        "certificate",
        `The API server's certificate (issued by ${issuer}) is not signed by ` +
          `${hasOwnAuthority ? "the configured CA" : "a public CA, and no CA is configured"} (${code}).`,
        `Set ${setting} to the CA of that cluster: kubectl config view --raw --minify -o ` +
          "jsonpath='{.clusters[0].cluster.certificate-authority-data}'."
      )
  }
}

const renewal =
  "Renew the serving certificate of that API server (kubeadm certs renew apiserver, or your provider's way)."

const shownCertificate = (certificate: ShownCertificate, connection: Connected, facts: ClusterFacts): Finding => {
  const { distrust } = connection
  const { subject, validity } = certificate
  const until = validity.until === undefined ? "" : `until ${momentText(validity.until)}`
  const verdict = judgeValidity(validity, facts.now)
  switch (verdict) {
    case "Ended":
      return failed("certificate", `The API server's certificate (${subject}) was valid ${until} only.`, renewal)
    case "NotYet":
      return failed(
        "certificate",
        `The API server's certificate (${subject}) is not valid before ${momentText(validity.from ?? 0)}.`,
        "Check the clocks of both machines; if they are right, renew that certificate."
      )
    case "Valid":
    case "EndsSoon":
      break
  }
  if (distrust !== undefined) return distrusted(distrust, certificate, connection, facts)
  return verdict === "EndsSoon"
    ? warning(
        "certificate",
        `The API server's certificate is trusted and ends in ${spanText((validity.until ?? 0) - facts.now)}, ` +
          `${momentText(validity.until ?? 0)}.`,
        renewal
      )
    : ok("certificate", `The API server's certificate is trusted, ${until}.`)
}

const certificateFinding = (connection: Connected, facts: ClusterFacts): Finding => {
  const { certificate, unchecked } = connection
  if (unchecked)
    return warning(
      "certificate",
      "Nobody checks the API server's certificate: insecure-skip-tls-verify is set.",
      `Set ${authoritySetting(facts)} instead.`
    )
  return certificate === undefined
    ? failed(
        "certificate",
        "The API server shows no certificate.",
        `Check that an API server answers at ${facts.server}.`
      )
    : shownCertificate(certificate, connection, facts)
}

const answering = ({ server, version }: ClusterFacts): Finding => {
  if (version._tag === "NoAnswer") {
    return failed(
      "reach",
      `${server} does not answer requests: ${version.detail}.`,
      "Look at the API server, and at proxies and load balancers in front of it."
    )
  }
  if (version._tag === "NotAsked") return ok("reach", `${server} accepts connections.`)
  return ok("reach", `${server} answers${version._tag === "Answered" ? `, Kubernetes ${version.value}` : ""}.`)
}

/** Whether the API server can be reached, and whether its certificate is good. */
export const examineConnection = (facts: ClusterFacts): ReadonlyArray<Finding> => {
  const { connection, server, version } = facts
  switch (connection._tag) {
    case "NotTried":
      return [
        version._tag === "NotAsked" ? skipped("reach", connection.why) : answering(facts),
        skipped("certificate", connection.why)
      ]
    case "NoAuthority":
      return [
        skipped("reach", "It was not tried: the CA is missing."),
        failed(
          "certificate",
          `The CA of the API server cannot be read: ${connection.detail}.`,
          "Correct certificate-authority of the kubeconfig, or set certificate-authority-data instead."
        )
      ]
    case "Failed":
      return [
        failed("reach", `${server} cannot be reached: ${connection.detail}.`, networkFix(connection.code, facts)),
        skipped("certificate", "No certificate was seen.")
      ]
    case "Connected": {
      const certificate = certificateFinding(connection, facts)
      const isTrusted = certificate.status !== "failed"
      const reach = isTrusted ? answering(facts) : ok("reach", `${server} accepts connections.`)
      return [reach, certificate]
    }
  }
}
