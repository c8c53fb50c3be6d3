import { generateKeyPairSync, type KeyObject, sign, verify } from "node:crypto"
import { createServer } from "node:https"
import { createAuthority } from "../../lab/cluster/http/pki.ts"
import { listenLocally } from "./listen-locally.ts"

/** The application of AKS's API servers, which every tenant with such clusters has. */
export const aksServer = "6dae42f8-4368-4678-94ff-3960e28e3630"

/** An identity in a tenant, and the service account that it trusts. */
export interface EntraIdentity {
  readonly clientId: string
  /** Id of the object, by which AKS names the user. */
  readonly objectId: string
  readonly groups: ReadonlyArray<string>
  readonly issuer: string
  readonly subject: string
}

interface EntraAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface EntraStandIn {
  /** With a slash at the end, as Azure's webhook sets it. */
  readonly authorityHost: string
  readonly issuer: string
  readonly caPem: string
  readonly asked: ReadonlyArray<string>
  /** How long tokens last, s. */
  lifetime: number
  /** An error instead of every answer. */
  problem: string | undefined
  /** Requests are never answered. */
  isSilent: boolean
  /** The answer to every request for a token, as it stands. */
  answer: EntraAnswer | undefined
  /** Requests that still wait for their answer. */
  readonly waiting: () => number
  readonly close: () => Promise<void>
}

export interface EntraOptions {
  readonly tenant: string
  readonly identities: ReadonlyArray<EntraIdentity>
  /** The key of the cluster whose service accounts are trusted. */
  readonly issuerKey: () => KeyObject
  readonly hasAks?: boolean
}

type Claims = Readonly<Record<string, unknown>>

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url")

/** A JWT (RS256). */
export const signJwt = (claims: Claims, key: KeyObject, keyId = "1"): string => {
  const signed = `${part({ alg: "RS256", typ: "JWT", kid: keyId })}.${part(claims)}`
  return `${signed}.${sign("sha256", Buffer.from(signed), key).toString("base64url")}`
}

const claimsOf = (token: string, key: KeyObject): Claims | undefined => {
  const [header = "", payload = "", signature = ""] = token.split(".")
  const { alg } = JSON.parse(Buffer.from(header, "base64url").toString()) as Claims
  const isGenuine = verify("sha256", Buffer.from(`${header}.${payload}`), key, Buffer.from(signature, "base64url"))
  return alg === "RS256" && isGenuine ? (JSON.parse(Buffer.from(payload, "base64url").toString()) as Claims) : undefined
}

/** Judges a request for a token as Entra does. Returns the identity, or the words of the refusal. */
const judge = (form: URLSearchParams, tenant: string, options: EntraOptions): EntraIdentity | string => {
  const { hasAks = true, identities, issuerKey } = options
  if (tenant !== options.tenant) return `AADSTS90002: Tenant '${tenant}' not found.`
  const clientId = form.get("client_id") ?? ""
  const identity = identities.find((known) => known.clientId === clientId)
  if (identity === undefined)
    return `AADSTS700016: Application with identifier '${clientId}' was not found in the directory 'Contoso'.`
  if (form.get("grant_type") !== "client_credentials")
    return "AADSTS70003: The app requested an unsupported grant type."
  if (form.get("client_assertion_type") !== "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
    return "AADSTS7000216: 'client_assertion' is required."
  const claims = claimsOf(form.get("client_assertion") ?? "", issuerKey())
  if (claims === undefined) return "AADSTS700027: The certificate of the client assertion is unknown."
  const refused = "No matching federated identity record found for presented assertion"
  if (claims["iss"] !== identity.issuer) return `AADSTS700211: ${refused} issuer '${String(claims["iss"])}'.`
  if (claims["sub"] !== identity.subject) return `AADSTS700213: ${refused} subject '${String(claims["sub"])}'.`
  if (![claims["aud"]].flat().includes("api://AzureADTokenExchange")) return `AADSTS700212: ${refused} audience.`
  if (Number(claims["exp"]) * 1000 < Date.now())
    return "AADSTS700024: Client assertion is not within its valid time range."
  if (!(form.get("scope") ?? "").split(" ").includes(`${aksServer}/.default`))
    return "AADSTS70011: The scope is not valid."
  if (!hasAks) return `AADSTS500011: The resource principal named ${aksServer} was not found in the tenant.`
  return identity
}

/** Serves the endpoints of Microsoft Entra for one tenant, and the keys of its tokens. */
export const startEntraStandIn = async (options: EntraOptions): Promise<EntraStandIn> => {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 })
  const authority = await createAuthority("entra", Date.now)
  const serving = await authority.issue({ commonName: "entra", sans: [{ type: "ip", value: "127.0.0.1" }] })
  const asked: Array<string> = []
  let traces = 0
  let waiting = 0
  const grant = (form: URLSearchParams, tenant: string): readonly [number, object] => {
    const identity = standIn.problem ?? judge(form, tenant, options)
    if (typeof identity === "string") {
      const trace = ` Trace ID: ${++traces}-trace Correlation ID: ${traces}-correlation Timestamp: 2026-11-25 00:00:00Z`
      const [, code = "0"] = /AADSTS(\d+)/u.exec(identity) ?? []
      return [400, { error: "invalid_client", error_description: identity + trace, error_codes: [Number(code)] }]
    }
    const now = Math.floor(Date.now() / 1000)
    const claims = {
      iss: standIn.issuer,
      aud: aksServer,
      sub: identity.objectId,
      oid: identity.objectId,
      groups: identity.groups,
      tid: options.tenant,
      iat: now,
      nbf: now - 300,
      exp: now + standIn.lifetime
    }
    const token = signJwt(claims, privateKey)
    return [
      200,
      { token_type: "Bearer", expires_in: standIn.lifetime, ext_expires_in: standIn.lifetime, access_token: token }
    ]
  }
  const server = createServer({ cert: serving.certPem, key: serving.keyPem }, (request, response) => {
    const answer = (status: number, body: object): void =>
      void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
    const [, tenant = "", ...path] = (request.url ?? "").split("?")[0]?.split("/") ?? []
    const base = `${standIn.authorityHost}${tenant}`
    let body = ""
    request.on("data", (bytes: Buffer) => (body += bytes.toString()))
    request.on("end", () => {
      if (standIn.isSilent) {
        waiting++
        return void request.socket.on("close", () => waiting--)
      }
      if (path.join("/") === "oauth2/v2.0/token") {
        asked.push(body)
        const { answer: given } = standIn
        if (given !== undefined) return void response.writeHead(given.status, given.headers).end(given.body)
        return answer(...grant(new URLSearchParams(body), tenant))
      }
      if (path.join("/") === "discovery/v2.0/keys")
        return answer(200, { keys: [{ ...publicKey.export({ format: "jwk" }), kid: "1", alg: "RS256", use: "sig" }] })
      return answer(200, {
        issuer: `${base}/v2.0`,
        authorization_endpoint: `${base}/oauth2/v2.0/authorize`,
        token_endpoint: `${base}/oauth2/v2.0/token`,
        jwks_uri: `${base}/discovery/v2.0/keys`,
        response_types_supported: ["id_token"],
        subject_types_supported: ["pairwise"],
        id_token_signing_alg_values_supported: ["RS256"]
      })
    })
  })
  const port = await listenLocally(server)
  const authorityHost = `https://127.0.0.1:${port}/`
  const standIn: EntraStandIn = {
    authorityHost,
    issuer: `${authorityHost}${options.tenant}/v2.0`,
    caPem: authority.caPem,
    asked,
    lifetime: 3_600,
    problem: undefined,
    isSilent: false,
    answer: undefined,
    waiting: () => waiting,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  }
  return standIn
}
