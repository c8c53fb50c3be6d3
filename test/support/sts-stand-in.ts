import { createHash, createHmac } from "node:crypto"
import { createServer } from "node:http"
import { listenLocally } from "./listen-locally.ts"

/** An AWS identity that the stand-in knows. */
export interface StsIdentity {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
  readonly arn: string
}

const hmac = (key: string | Buffer, text: string): Buffer => createHmac("sha256", key).update(text).digest()
const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex")

/** Percent-encoding of AWS: every byte but the unreserved ones of RFC 3986. */
const encoded = (text: string): string =>
  [...Buffer.from(text)]
    .map((byte) => {
      const char = String.fromCharCode(byte)
      return /[A-Za-z0-9._~-]/u.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`
    })
    .join("")

/** Epoch ms of `20261125T000202Z`. */
const timeOf = (date: string): number =>
  Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/u, "$1-$2-$3T$4:$5:$6Z"))

/**
 * Checks a presigned request as STS does, by the published description of Signature Version 4: `headers` are sent with
 * it, `now` is the clock of AWS. Returns the identity, or the reason of the refusal.
 */
export const callerIdentity = (
  url: URL,
  headers: Readonly<Record<string, string>>,
  identities: ReadonlyArray<StsIdentity>,
  now: number
): StsIdentity | string => {
  const parameter = (name: string): string => url.searchParams.get(name) ?? ""
  const [accessKeyId, day = "", region = "", service = "", end = ""] = parameter("X-Amz-Credential").split("/")
  const identity = identities.find((known) => known.accessKeyId === accessKeyId)
  if (identity === undefined) return "InvalidClientTokenId"
  if (parameter("X-Amz-Security-Token") !== (identity.sessionToken ?? "")) return "InvalidClientTokenId"
  const date = parameter("X-Amz-Date")
  // X-Amz-Expires counts for nothing here.
  if (now - timeOf(date) > 15 * 60_000) return "Signature expired"
  if (timeOf(date) - now > 5 * 60_000) return "Signature not yet current"
  if (!url.hostname.startsWith(`sts.${region}.`)) return "SignatureDoesNotMatch: region"
  const names = parameter("X-Amz-SignedHeaders")
  const canonical = [
    "GET",
    url.pathname,
    [...url.searchParams]
      .filter(([name]) => name !== "X-Amz-Signature")
      .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
      .toSorted()
      .join("&"),
    ...names.split(";").map((name) => `${name}:${headers[name] ?? ""}`),
    "",
    names,
    sha256("")
  ].join("\n")
  const signed = ["AWS4-HMAC-SHA256", date, `${day}/${region}/${service}/${end}`, sha256(canonical)].join("\n")
  const key = [day, region, "sts", "aws4_request"].reduce<string | Buffer>(hmac, `AWS4${identity.secretAccessKey}`)
  return hmac(key, signed).toString("hex") === parameter("X-Amz-Signature") ? identity : "SignatureDoesNotMatch"
}

const allowedParameters = [
  "Action",
  "Version",
  ...["Algorithm", "Credential", "Date", "Expires", "Security-Token", "Signature", "SignedHeaders"].map(
    (name) => `X-Amz-${name}`
  )
]

/**
 * Judges a token as aws-iam-authenticator does for the EKS cluster `clusterId`, with {@link callerIdentity} as STS.
 * Returns the identity, or the reason of the refusal.
 */
export const authenticate = (
  token: string,
  clusterId: string,
  identities: ReadonlyArray<StsIdentity>,
  now: number
): StsIdentity | string => {
  if (!/^k8s-aws-v1\.[\w-]+$/u.test(token)) return "no token of the expected form"
  const text = Buffer.from(token.slice("k8s-aws-v1.".length), "base64url").toString()
  if (!URL.canParse(text)) return "no URL"
  const url = new URL(text)
  if (url.protocol !== "https:" || url.pathname !== "/") return "unexpected scheme or path"
  if (!/^sts\.[a-z0-9-]+\.(?:amazonaws\.com|amazonaws\.com\.cn|c2s\.ic\.gov|sc2s\.sgov\.gov)$/u.test(url.hostname))
    return `unexpected hostname ${url.hostname}`
  const names = [...url.searchParams.keys()]
  if (new Set(names).size !== names.length || names.some((name) => !allowedParameters.includes(name)))
    return "unexpected or repeated parameter"
  if (url.searchParams.get("Action") !== "GetCallerIdentity") return "unexpected action"
  if (!(url.searchParams.get("X-Amz-SignedHeaders") ?? "").split(";").includes("x-k8s-aws-id"))
    return "x-k8s-aws-id is not signed"
  const expires = Number(url.searchParams.get("X-Amz-Expires"))
  if (!(expires >= 0 && expires <= 900)) return "invalid X-Amz-Expires"
  return callerIdentity(url, { host: url.hostname, "x-k8s-aws-id": clusterId }, identities, now)
}

/** The services that give a pod its AWS identity. */
export interface IdentityStandIn {
  readonly url: string
  /** The bodies of requests to STS, and the headers `authorization` of those to a Pod Identity's agent. */
  readonly asked: ReadonlyArray<string>
  /** The next answers; an identity, or the text of an error. */
  answer:
    | { readonly identity: StsIdentity; readonly expires: number }
    | { readonly code: string; readonly text: string }
  readonly close: () => Promise<void>
}

const iso = (time: number): string => `${new Date(time).toISOString().slice(0, 19)}Z`

/** Serves STS `AssumeRoleWithWebIdentity` (IRSA) at POST, and the agent of EKS Pod Identities at GET. */
export const startIdentityStandIn = async (answer: IdentityStandIn["answer"]): Promise<IdentityStandIn> => {
  const asked: Array<string> = []
  const server = createServer((request, response) => {
    let body = ""
    request.on("data", (part: Buffer) => (body += part.toString()))
    request.on("end", () => {
      const { answer: given } = standIn
      const isSts = request.method === "POST"
      asked.push(isSts ? body : (request.headers.authorization ?? ""))
      if ("code" in given) {
        response.writeHead(400, { "content-type": isSts ? "text/xml" : "application/json" })
        const error = `<Error><Type>Sender</Type><Code>${given.code}</Code><Message>${given.text}</Message></Error>`
        response.end(
          isSts ? `<ErrorResponse>${error}</ErrorResponse>` : JSON.stringify({ Code: given.code, Message: given.text })
        )
        return
      }
      const { expires, identity } = given
      const { accessKeyId, arn, secretAccessKey, sessionToken = "" } = identity
      if (isSts) {
        response.writeHead(200, { "content-type": "text/xml" }).end(
          `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
            <AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>${accessKeyId}</AccessKeyId>
            <SecretAccessKey>${secretAccessKey}</SecretAccessKey><SessionToken>${sessionToken}</SessionToken>
            <Expiration>${iso(expires)}</Expiration></Credentials>
            <AssumedRoleUser><Arn>${arn}</Arn><AssumedRoleId>AROA:x</AssumedRoleId></AssumedRoleUser>
            </AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`
        )
        return
      }
      response.writeHead(200, { "content-type": "application/json" }).end(
        JSON.stringify({
          AccessKeyId: accessKeyId,
          SecretAccessKey: secretAccessKey,
          Token: sessionToken,
          Expiration: iso(expires)
        })
      )
    })
  })
  const port = await listenLocally(server)
  const standIn: IdentityStandIn = {
    url: `http://127.0.0.1:${port}`,
    asked,
    answer,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  }
  return standIn
}
