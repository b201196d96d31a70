/* The types of the client, printed from the routes: npm run client:types. Do not edit. sha256 of the routes: 67c4ef7029fa02fb166a9fb57e3dede85d277831b8a957002a5fc49cef8fc331 */

export interface paths {
    "/api/servers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List MCP servers
         * @description Without limit and offset: the first 1,000. Pages have an offset and no cursor. A JWT sees the servers that JWTs of its user created.
         */
        get: operations["listServers"];
        put?: never;
        /**
         * Create an MCP server
         * @description JWTs of one user can create at most 20 servers.
         */
        post: operations["createServer"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/servers/{serverId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read an MCP server */
        get: operations["getServer"];
        /**
         * Change an MCP server
         * @description Changes only the given members. Replaces `restrictions` and `budgets` whole.
         */
        put: operations["updateServer"];
        post?: never;
        /** Delete an MCP server */
        delete: operations["deleteServer"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/servers/{serverId}/token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rotate the access token
         * @description The old token and its URL stop working at once. Without `tokenExpiresInDays` the new token does not expire.
         */
        post: operations["rotateServerToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/servers/{serverId}/simulate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Simulate a call
         * @description Runs the checks of a call through this server, and sends nothing to the app.
         */
        post: operations["simulateCall"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/servers/{serverId}/simulate-past": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Simulate restrictions over recorded calls
         * @description Judges the recorded calls of this server by other restrictions, and changes nothing. `proposal` narrows them to the actions in use. An action whose effect depends on its input is judged by its severest effect when it is asked for agreement.
         */
        post: operations["simulatePast"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/servers/{serverId}/call-tool": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Call a tool as a user
         * @description Calls a tool as an agent of the user would, with the server's restrictions, confirmations, budgets and record of executions. The record names the API key or the person. A failure of the tool has `isError`. A question to the user is an answer with `inputRequests`: repeat the call with its `requestState` and the answers.
         */
        post: operations["callServerTool"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools/changes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List changed tool definitions
         * @description Actions, prompts and resources that connectors bring, and what connectors say of themselves: texts, schemas, and where calls go. The first look at an environment approves what is installed; from then on every difference is here until it is approved.
         */
        get: operations["listDefinitionChanges"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools/approve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Approve definitions
         * @description Servers with `pinTools` show them from then on. Each entry names the hash that was read, so a definition that changed since then is refused. Either all entries are approved or none. The audit log has an entry for each.
         */
        post: operations["approveDefinitions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/servers/{serverId}/tools": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List a server's tools and their token cost
         * @description With `format=tokens` the tools have sizes in place of definitions, largest first. Tokens count the name, description and input schema, which clients send to their model. The estimate is within 10 % of the o200k tokenizer of OpenAI. The counts of other models differ by up to a third.
         */
        get: operations["listServerTools"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List end users */
        get: operations["listUsers"];
        put?: never;
        /** Create an end user */
        post: operations["createUser"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/2023-12/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Create an end user */
        post: operations["createUnifiedUser"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/{userId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read an end user */
        get: operations["getUser"];
        /**
         * Change an end user
         * @description Changes only the given members. A disabled user has no access until enabled again.
         */
        put: operations["updateUser"];
        post?: never;
        /**
         * Delete an end user
         * @description Also deletes credentials, files, owned MCP servers and stored results. Tokens are revoked where the app supports it. Executions keep only the id.
         */
        delete: operations["deleteUser"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/2023-12/user/{userId}/token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Issue a JWT for an end user
         * @description Valid for one hour. Verify it with the keys at /.well-known/jwks.json.
         */
        get: operations["getUserToken"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/{userId}/tokens/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Revoke the JWTs of an end user
         * @description Every JWT issued until now is rejected within a second.
         */
        post: operations["revokeUserTokens"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/connectors": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the supported apps */
        get: operations["listConnectors"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/connectors/{connectorId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a connector
         * @description Includes its first 50 actions, its unified models and the scopes of its events.
         */
        get: operations["getConnector"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/connectors/{connectorId}/types": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * TypeScript declarations of a connector
         * @description A namespace with a function for each action: its parameters, and what it answers.
         */
        get: operations["getConnectorTypes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/connectors/{connectorId}/icon.svg": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The icon of a connector */
        get: operations["getConnectorIcon"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/connectors/{connectorId}/credentials/metadata": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the credential forms of a connector */
        get: operations["getCredentialMetadata"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/connectors/{connectorId}/actions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the actions of a connector */
        get: operations["listActions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/connectors/{connectorId}/actions/{actionId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read an action with its schemas */
        get: operations["getAction"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/connectors/{connectorId}/actions/{actionId}/execute": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Run an action on behalf of a user
         * @description A list action takes `limit` (1 to 50) and `offset` in `input`. It answers with `data` and `pagination`, whatever paging the app uses. Repeat with `nextOffset` until `hasMore` is false. Names and values that break the schema and have one meaning are corrected; `corrections` lists them.
         */
        post: operations["executeAction"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/actions/execute": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Run up to ten actions at the same time on behalf of a user
         * @description Each call is checked, recorded and answered like a single call. It has its own result or error, in the order of `calls`. No call should need the result of another. `corrections` lists what was corrected.
         */
        post: operations["executeBatch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/files": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Upload a file
         * @description Stores the body as a file of the user for 24 hours, encrypted. Its Content-Type becomes the media type. Actions take the file as `{fileId}` where their input has the format `binary`. A user may have 1,000 files at a time, of 1 GiB together, unless the operator sets other limits.
         */
        post: operations["uploadFile"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/files/{fileId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Download a file
         * @description Returns the content of a file, with its own Content-Type.
         */
        get: operations["getFile"];
        put?: never;
        post?: never;
        /** Delete a file */
        delete: operations["deleteFile"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/connectors": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the custom connectors
         * @description GET /connectors lists these together with the shipped ones and those of the folder.
         */
        get: operations["listCustomConnectors"];
        put?: never;
        /**
         * Add a custom connector
         * @description Adds an app to this environment without a restart. Every process uses it within a second. It cannot have the id of a shipped connector, reach private addresses, or bring prompts, resources and bare tool names.
         */
        post: operations["createCustomConnector"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/connectors/{connectorId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a custom connector */
        get: operations["getCustomConnector"];
        /**
         * Change a custom connector
         * @description Stores a new version, which every process uses within a second. An equal definition makes no version. The overlay stays. Credentials work on only while the connector sends them to no other origin. An OpenAPI document that breaks callers is refused, unless `acceptBreaking` is true.
         */
        put: operations["putCustomConnector"];
        post?: never;
        /**
         * Delete a custom connector
         * @description Its credentials, subscriptions and workflows stay. They work again when a connector with this id returns that sends credentials to the same origins.
         */
        delete: operations["deleteCustomConnector"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/connectors/{connectorId}/versions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the versions of a custom connector */
        get: operations["listConnectorVersions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/connectors/{connectorId}/versions/{version}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a version of a custom connector */
        get: operations["getConnectorVersion"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/connectors/{connectorId}/versions/{a}/diff/{b}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Compare two versions of a custom connector */
        get: operations["diffConnectorVersions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/connectors/{connectorId}/reimport": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Import a connector again
         * @description Without a body, reads the tools of a remote MCP server. Changed tools make a version. Gatehouse also does this every five minutes, and when the server reports a change. With `openapi`, imports the document as PUT does.
         */
        post: operations["reimportConnector"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/connectors/{connectorId}/overlay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the overlay of a custom connector */
        get: operations["getConnectorOverlay"];
        /**
         * Change a custom connector over its imports
         * @description The body has the form of a connector file, and is merged into it (RFC 7396): objects member by member, `null` removes a member, and any other value replaces it. It makes a version, and stays when the document or the tools are imported again. It can set effects and descriptions of the tools of a remote MCP server, and hide tools.
         */
        put: operations["putConnectorOverlay"];
        post?: never;
        /**
         * Remove the overlay of a custom connector
         * @description The connector is again as it was sent or imported.
         */
        delete: operations["deleteConnectorOverlay"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/oauth/clients/{connectorId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the metadata of Gatehouse as an OAuth client
         * @description The client id of Gatehouse at OAuth servers that read client id metadata documents. Remote MCP servers use it.
         */
        get: operations["getClientMetadata"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/{userId}/credentials": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the credentials of a user */
        get: operations["listCredentials"];
        put?: never;
        /**
         * Store a credential of a user
         * @description Checks the data against the connector, tries it at the app where the connector has a call for that, and stores it encrypted. An account that the user has connected before keeps its credential and id, with the new data. Accounts are compared by the id that the app reports, else by the entered data. A key that the app refuses is `credential_invalid` and is not stored. OAuth: the answer is a link to sign in. With `data: {accessToken, refreshToken?, expiresAt?, scopes?}` a live account is imported.
         */
        post: operations["createCredential"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/credentials": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the credentials of all users by state
         * @description Such as those that their users must reconnect.
         */
        get: operations["listAllCredentials"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/{userId}/credentials/{credentialId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a credential
         * @description Its metadata and state; never a secret.
         */
        get: operations["getCredential"];
        /**
         * Rename a credential, mark it as the default, or replace a rotated key
         * @description The given members of `data` replace the stored ones. All are checked as at creation. The id does not change. Data of an account for which the user has another credential is `credential_conflict`.
         */
        put: operations["updateCredential"];
        post?: never;
        /** Delete a credential */
        delete: operations["deleteCredential"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/{userId}/credentials/{credentialId}/check": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Test a credential at the third party
         * @description A credential that works becomes `active`. A refused credential becomes `needs_reconnect`, with the reason. When the connector has no call for a test, `checked` is false and nothing changes.
         */
        post: operations["checkCredential"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/{userId}/credentials/{credentialId}/webhook": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the webhooks that are set up by hand
         * @description Apps without calls that register webhooks. The answer names the steps at the app.
         */
        get: operations["getConnectionWebhook"];
        put?: never;
        /**
         * Make the address of webhooks, or replace their secret
         * @description Makes an address for the connection. A further call keeps the address and replaces the secret; the previous secret is valid for 24 hours.
         */
        post: operations["setUpConnectionWebhook"];
        /**
         * Delete the address of webhooks
         * @description Further webhooks are answered with 404, and the app is polled as before.
         */
        delete: operations["deleteConnectionWebhook"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/connectors/{connectorId}/oauth-app": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the OAuth app of a connector */
        get: operations["getOAuthApp"];
        /**
         * Store the OAuth app of a connector
         * @description The client id and secret that you registered at the third party, for this environment. Users connect their accounts through it. The secret is stored encrypted and never returned.
         */
        put: operations["putOAuthApp"];
        post?: never;
        /**
         * Delete the OAuth app of a connector
         * @description Its credentials work until their access tokens expire. Then they need an OAuth app again.
         */
        delete: operations["deleteOAuthApp"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/{userId}/credentials/{credentialId}/reconnect": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a link that reconnects a credential
         * @description The user gives a new consent or new keys. The credential keeps its id. Another account is rejected. A consent asks for `scopes` too: send those of `details.scopes`, where an app refused a call.
         */
        post: operations["reconnectCredential"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/{userId}/connect-sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a link that connects an account of a user
         * @description Single use, fifteen minutes, bound to the first browser that opens it. In the end the person returns to `redirectUri` with `success=true&connectionId=&credentialId=&state=`, or `success=false&error=&state=`.
         */
        post: operations["createConnectSession"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/{userId}/connect-sessions/{sessionId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a connect session of a user
         * @description Shows the result, or the accounts to choose from while the session is `choosing`.
         */
        get: operations["getUserConnectSession"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/{userId}/connect-sessions/{sessionId}/choice": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Choose the account of a user’s consent, as the operator
         * @description The operator connects an account for a user. The page of the user needs no choice then.
         */
        post: operations["chooseUserAccount"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/connect/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Begin to connect an account, as the user of the JWT */
        post: operations["createModalSession"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/connect/s/{link}/open": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Open a connect link in this browser
         * @description Binds the link to the browser, by a cookie. No other browser can use it then.
         */
        post: operations["openConnectLink"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/connect/sessions/{sessionId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a connect session */
        get: operations["getConnectSession"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/connect/sessions/{sessionId}/credentials": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Connect an account by keys
         * @description Checks and tries the keys as POST /users/{userId}/credentials does. After a rejection the session stays open.
         */
        post: operations["submitConnectForm"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/connect/sessions/{sessionId}/authorize": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Get the address of the consent page of an app
         * @description Works only in the browser that opened the link. The consent must end in the same browser.
         */
        post: operations["authorizeConnect"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/connect/sessions/{sessionId}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Cancel a connect session */
        post: operations["cancelConnect"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/connect/sessions/{sessionId}/choice": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Choose one of the accounts that a consent reaches
         * @description Works once, within ten minutes after the consent. After a refusal of the app the choice stays open.
         */
        post: operations["chooseConnectAccount"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/connect/accounts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the accounts that the user of the JWT has connected */
        get: operations["listAccounts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/connect/accounts/{credentialId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Mark an account as the default, as the user of the JWT */
        put: operations["markAccount"];
        post?: never;
        /** Disconnect an account, as the user of the JWT */
        delete: operations["disconnectAccount"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/connect/portal": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the user of the JWT and the branding of the portal */
        get: operations["getPortal"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/connect/portal/accounts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the accounts of the user of the JWT, with their apps */
        get: operations["listPortalAccounts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/connect/portal/accounts/{credentialId}/check": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Test an account at its app, as the user of the JWT */
        post: operations["checkAccount"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/connect/portal/subscriptions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the webhook subscriptions to the accounts of the user of the JWT */
        get: operations["listPortalSubscriptions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/connect/portal/subscriptions/{subscriptionId}/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the deliveries of a subscription of the user of the JWT
         * @description As `GET /webhooks/{subscriptionId}/deliveries`, without the answers of the receiver.
         */
        get: operations["listPortalDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/connect/portal/subscriptions/{subscriptionId}/deliveries/{deliveryId}/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a delivery again, as the user of the JWT
         * @description As `POST /webhooks/{subscriptionId}/deliveries/{deliveryId}/replay`.
         */
        post: operations["replayPortalDelivery"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/oauth/callback/{connectorId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Return from the consent page of an app
         * @description The redirect address to register at the app, one for each connector. Works once for each consent, in the browser that began it; a repeated request shows the same result. HEAD, and a page that a browser loads ahead, have no effect.
         */
        get: operations["oauthCallback"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/2023-03/one/{category}/{model}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List records of a connection in their unified form
         * @description Records of shops (`commerce`), of sales (`crm`), of bookkeeping (`accounting`) and of support (`ticketing`), in one form for every app. A connector id and the name of its event source give the own records of that app: `slack/message.posted`.
         */
        get: operations["listUnified"];
        put?: never;
        /**
         * Create a record of a connection from its unified form
         * @description The answer is the record as the app stored it. `incomplete` says that the record was written but could not be read.
         */
        post: operations["createUnified"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/2023-03/one/{category}/{model}/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a record of a connection in its unified form
         * @description Where a connector can only list the records of an event source, the first 1,000 of its list are searched.
         */
        get: operations["getUnified"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Change a record of a connection in its unified form
         * @description Members that are not given stay as they are, and null empties one. The answer is the record as the app stored it. `incomplete` says that the record was written but could not be read.
         */
        patch: operations["updateUnified"];
        trace?: never;
    };
    "/api/field-mappings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List custom fields of unified models */
        get: operations["listFieldMappings"];
        /**
         * Add custom fields to a unified model
         * @description Each field is a JSONata expression over the record of the app (`raw`). It appears under `custom`. A mapping holds for the whole environment, for a connector, or for one connection; the narrower one wins. The level is replaced whole.
         */
        put: operations["putFieldMapping"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/field-mappings/{mappingId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Remove a level of custom fields */
        delete: operations["deleteFieldMapping"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/2023-03/one/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List webhook subscriptions
         * @description Without `connectionId`: all subscriptions of the environment.
         */
        get: operations["listSubscriptions"];
        put?: never;
        /**
         * Subscribe to events of a connection
         * @description Each delivery is a POST of the record, at least once, signed as in Standard Webhooks 1.0.0. `x-svc-sequence` rises by one with each delivery, so the receiver sees gaps and order. 2xx within 15 s is success, a redirect is a failure, 410 ends the subscription. Failures are repeated after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h and 24 h. After 120 hours of failures alone the subscription is disabled.
         */
        post: operations["createSubscription"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhooks/{subscriptionId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a webhook subscription */
        get: operations["getSubscription"];
        /**
         * Change a webhook subscription
         * @description Changes only the given members. Replaces `headers` whole. Waiting deliveries go to the new address within a second.
         */
        put: operations["updateSubscription"];
        post?: never;
        /**
         * Delete a webhook subscription
         * @description Cancels its waiting and running deliveries, and deletes their log.
         */
        delete: operations["deleteSubscription"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhooks/{subscriptionId}/rotate-secret": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rotate the signing secret
         * @description Deliveries carry both signatures for 24 hours, so that the receiver has time to switch.
         */
        post: operations["rotateSubscriptionSecret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhooks/{subscriptionId}/enable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Enable a subscription that was disabled
         * @description Delivers events from now on. A disabled subscription collects no events; `recover` delivers the missed ones.
         */
        post: operations["enableSubscription"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/hooks/workflows/{token}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Start a workflow with a call trigger
         * @description The token in the address is the credential. The body, JSON or a form, is `trigger.body`. The same call with the same Idempotency-Key (or `webhook-id` of Standard Webhooks) returns the same run.
         */
        post: operations["callWorkflow"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/hooks/{connectorId}/{token}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Answer the address check of an app
         * @description The webhook is verified by the connector's scheme and stored once by the app's event id. The answer follows after the webhook is safe on disk. 503 asks the app to send it again. A genuine webhook whose body cannot be read is refused, and logged.
         */
        get: operations["checkHook"];
        put?: never;
        /**
         * Receive a webhook of an app
         * @description The webhook is verified by the connector's scheme and stored once by the app's event id. The answer follows after the webhook is safe on disk. 503 asks the app to send it again. A genuine webhook whose body cannot be read is refused, and logged.
         */
        post: operations["receiveHook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhooks/{subscriptionId}/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the deliveries of a subscription with their attempts
         * @description Newest first, kept for 30 days. Offsets end at 10,000: from there on, or from the start, follow `pagination.nextCursor` with `cursor`.
         */
        get: operations["listDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/deliveries/summary": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Count deliveries by hour
         * @description Deliveries of the events of each hour by their present state, oldest hour first, in UTC. The last hour is not over yet. Counts of earlier hours are a minute old at most.
         */
        get: operations["summarizeDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhooks/{subscriptionId}/deliveries/{deliveryId}/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a delivery again
         * @description It keeps its id and sequence number, and its schedule starts again. A waiting delivery becomes due now; a delivery under way stays unchanged.
         */
        post: operations["replayDelivery"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhooks/{subscriptionId}/recover": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Recover missed deliveries since a time
         * @description Dead and cancelled deliveries start again. Events that came while the subscription was disabled are delivered now, with new numbers. Other deliveries stay unchanged, so a second request changes nothing. Events are kept for 30 days.
         */
        post: operations["recoverDeliveries"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhooks/{subscriptionId}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a test event
         * @description Stored, numbered, signed and retried like every event. It carries `x-svc-event: test` and `x-svc-test: true`.
         */
        post: operations["sendTestEvent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workflows": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List workflows */
        get: operations["listWorkflows"];
        put?: never;
        /**
         * Define a workflow
         * @description A trigger, steps, and what an end user may configure. In `input`, a string that begins with `=` is a JSONata expression over `trigger`, `steps`, `config` and `user`; `==` begins a literal `=`. Faults are reported by their path.
         */
        post: operations["createWorkflow"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workflows/{workflowId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a workflow */
        get: operations["getWorkflow"];
        put?: never;
        post?: never;
        /**
         * Delete a workflow
         * @description Also deletes its versions, installations and runs. A step under way is finished.
         */
        delete: operations["deleteWorkflow"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workflows/{workflowId}/versions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the versions of a workflow */
        get: operations["listWorkflowVersions"];
        put?: never;
        /**
         * Publish a new version, or store a draft
         * @description A published version never changes. Installations keep their version until they are upgraded. A draft has the next number, and the next version replaces it.
         */
        post: operations["addWorkflowVersion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workflows/{workflowId}/versions/{version}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a version */
        get: operations["getWorkflowVersion"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workflows/{workflowId}/versions/{version}/publish": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Publish a draft */
        post: operations["publishWorkflowVersion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workflows/{workflowId}/versions/{version}/try": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Test a version or draft, or one step of it
         * @description The steps are real: they act with the end user's accounts. With `stepId` only that step runs, with the results of earlier steps from `fromRunId` and `given`. Its first failure ends the run, a for-each runs its first item, and a wait is computed and does not pass.
         */
        post: operations["tryWorkflowVersion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workflows/{workflowId}/versions/{a}/diff/{b}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Compare two versions */
        get: operations["diffWorkflowVersions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workflows/{workflowId}/install": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the installation form
         * @description The configurable fields, and the accounts of the user for each app.
         */
        get: operations["getInstallForm"];
        /**
         * Change an installation
         * @description Changes only the given members. Replaces `config` whole; [secret] keeps a secret field. Runs under way keep their configuration. A disabled installation starts no runs.
         */
        put: operations["updateInstallation"];
        /**
         * Install a workflow for an end user
         * @description Installs the newest published version. If an account is missing: 409, with the link that connects it.
         */
        post: operations["installWorkflow"];
        /**
         * Uninstall a workflow for an end user
         * @description Cancels its runs under way. Their log stays.
         */
        delete: operations["uninstallWorkflow"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workflows/{workflowId}/install/rotate-token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rotate the address of a call trigger
         * @description The old address stops working at once.
         */
        post: operations["rotateWorkflowHook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workflows/{workflowId}/installations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List installations of a workflow */
        get: operations["listInstallations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workflows/{workflowId}/upgrade": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Upgrade an installed workflow for an end user
         * @description Moves the installation to the newest version when that has the same configurable fields (names, types, formats, enums, required ones). Otherwise the user must install it again: `upgraded` is false, with the reason. Runs under way finish on the version they began with.
         */
        put: operations["upgradeWorkflow"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workflows/{workflowId}/upgrade-all": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Upgrade the installations of a workflow, all or a part
         * @description Upgrades each in its own transaction. A higher `percent` includes the users of a lower one, so a roll-out can be 5, 25, 100. Rollback undoes it for one user.
         */
        post: operations["upgradeAllInstallations"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workflows/{workflowId}/rollback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Undo the last upgrade for an end user */
        post: operations["rollbackWorkflow"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List runs of all workflows
         * @description Newest first; kept for 30 days. Offsets end at 10,000: follow `pagination.nextCursor` with `cursor`. A JWT sees the runs of its user.
         */
        get: operations["listRuns"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workflows/{workflowId}/run": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Run an installed workflow now */
        post: operations["runWorkflow"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workflows/{workflowId}/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List runs of a workflow
         * @description Newest first; kept for 30 days. Offsets end at 10,000: follow `pagination.nextCursor` with `cursor`. A JWT sees the runs of its user.
         */
        get: operations["listWorkflowRuns"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workflows/{workflowId}/runs/{runId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a run and its log
         * @description Each step with its input and output, without secrets.
         */
        get: operations["getWorkflowRun"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workflows/{workflowId}/runs/{runId}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a run
         * @description The run ends before its next step. A step under way is finished and recorded.
         */
        post: operations["cancelWorkflowRun"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workflows/{workflowId}/runs/{runId}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resume a failed run from the step that failed
         * @description Keeps its version, configuration and results. Finished steps do not run again.
         */
        post: operations["retryWorkflowRun"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workflow-starters": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List workflows that come with Gatehouse */
        get: operations["listWorkflowStarters"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workflow-starters/{starterId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a starter */
        get: operations["getWorkflowStarter"];
        put?: never;
        /**
         * Create a workflow from a starter
         * @description Assigns an app and its action to each role: `{"messenger": {"connectorId": "…", "actionId": "…", "input": {…}}}`. Other parts stay unchanged.
         */
        post: operations["createWorkflowFromStarter"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/executions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List executions
         * @description Newest first, without payloads. Offsets end at 10,000: from there on, or from the start, follow `pagination.nextCursor` with `cursor`.
         */
        get: operations["listExecutions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/executions/summary": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Count executions by hour
         * @description Calls by outcome and their durations, oldest hour first, in UTC. The last hour is not over yet. Denied calls have no duration.
         */
        get: operations["summarizeExecutions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/executions/{executionId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read an execution
         * @description Has `input` and `output` where the setting `payloads` stored them and the key has the scope `payloads:read`. By default it stores the message of a failed call, as `output.error`. Credentials and sensitive fields are replaced. A value over 64 KiB is the beginning of its JSON text, with a note.
         */
        get: operations["getExecution"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/executions/{executionId}/undo": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Undo a call
         * @description Runs the inverse of a call once, with the account of the call, within 24 hours. `x-svc-userid` limits it to calls of that user.
         */
        post: operations["undoExecution"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/reports": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List problems that agents reported
         * @description Newest first. Agents report with the tool `report_problem_svc` which description, refusal or answer misled them. Reports are stored for 90 days, or until their user is deleted.
         */
        get: operations["listProblemReports"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/circuits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List actions whose calls are stopped
         * @description The newest failure first. MCP servers stop the calls to an action of an account that fail in a row, by their field `circuit`. From `closesAt` on, the next call is sent as a trial, and its success removes the entry.
         */
        get: operations["listOpenCircuits"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/search/fruitless": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List searches that led to no execution
         * @description The last one first. Agents searched for an action at least twice with these words, and ran none within ten minutes. An execution after such a search removes the entry. Entries are stored for 90 days after the last search.
         */
        get: operations["listFruitlessSearches"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/overview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Count what there is and what needs attention */
        get: operations["getOverview"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/settings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the settings of the environment */
        get: operations["getSettings"];
        /**
         * Change the settings of the environment
         * @description Changes only the given members. Replaces lists and restrictions whole.
         */
        put: operations["putSettings"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the API keys
         * @description The keys that are not revoked, oldest first, with the key of the environment. `lastUsedAt` is at most a minute old.
         */
        get: operations["listKeys"];
        put?: never;
        /**
         * Create a named API key
         * @description The key belongs to the environment of the caller and gets only scopes that the caller has. It expires with the caller at the latest.
         */
        post: operations["createKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/keys/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rotate the API key of the environment
         * @description Revokes the key that made this request at once. Only the key of the environment may do this. Named keys stay.
         */
        post: operations["rotateKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/keys/{keyId}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rotate a named API key
         * @description Gives the key a new secret. The earlier secret ends at once, or after `overlapSeconds`. Scopes and expiry stay.
         */
        post: operations["rotateNamedKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/keys/{keyId}/previous-secret": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * End the earlier secret of a named API key
         * @description Ends the overlap of a rotation: requests with the secret before it are 401 within a second. The current secret stays.
         */
        delete: operations["endPreviousSecret"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/keys/{keyId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke a named API key
         * @description Requests with it are 401 within a second. Its name can be used again.
         */
        delete: operations["revokeKey"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the audit log
         * @description Newest first: who changed what, and who was shown an access token. Offsets end at 10,000: from there on, or from the start, follow `pagination.nextCursor` with `cursor`.
         */
        get: operations["listAudit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Check that the process is alive */
        get: operations["getHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ready": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Check that the service is ready
         * @description 503 names what is missing. The database must answer and take writes, which a full disk prevents. The first API keys must be stored. The event loop must not have been blocked for over a second within the last five. The process must not be stopping.
         */
        get: operations["getReady"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the metrics of this process
         * @description Prometheus' text format; docs/observability.md lists the metrics. With GATEHOUSE_METRICS_TOKEN set, it is the bearer token. Without it, only programs on the same machine may read them, and not through a reverse proxy.
         */
        get: operations["getMetrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/.well-known/jwks.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Public keys of user JWTs */
        get: operations["getJwks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/.well-known/oauth-protected-resource/mcp/{serverId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the OAuth metadata of an MCP server
         * @description Protected resource metadata (RFC 9728), for the issuers of `GATEHOUSE_JWT_ISSUERS`. Where none is trusted there is none, and never for an access URL, which is its own credential.
         */
        get: operations["getProtectedResource"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description The body of every error answer. */
        Error: {
            /** @description Sentence that names the fault and its fix. */
            error: string;
            /**
             * @description Stable code of the error.
             * @enum {string}
             */
            code: "invalid_request" | "api_version_missing" | "api_version_unsupported" | "user_id_missing" | "request_meta_invalid" | "request_state_invalid" | "header_mismatch" | "client_capability_missing" | "protocol_version_unsupported" | "redirect_not_allowed" | "oauth_state_invalid" | "unauthorized" | "token_expired" | "restricted" | "forbidden" | "not_found" | "method_not_found" | "server_not_found" | "user_not_found" | "connector_not_found" | "connector_version_not_found" | "action_not_found" | "credential_not_found" | "subscription_not_found" | "delivery_not_found" | "oauth_app_not_found" | "connect_session_taken" | "connect_session_not_found" | "connect_session_expired" | "key_not_found" | "file_not_found" | "record_not_found" | "field_mapping_not_found" | "workflow_not_found" | "workflow_version_not_found" | "starter_not_found" | "installation_not_found" | "run_not_found" | "program_not_found" | "execution_not_found" | "undo_not_found" | "session_not_found" | "method_not_allowed" | "not_acceptable" | "limit_reached" | "connector_exists" | "breaking_changes" | "server_exists" | "key_exists" | "key_rotating" | "environment_key" | "user_exists" | "subscription_exists" | "subscription_disabled" | "workflow_exists" | "installation_exists" | "run_ended" | "program_not_waiting" | "run_not_failed" | "workflow_loop" | "installation_disabled" | "credential_required" | "credential_ambiguous" | "credential_conflict" | "oauth_app_missing" | "credential_invalid" | "idempotency_conflict" | "idempotency_in_progress" | "already_undone" | "possible_duplicate" | "confirmation_too_large" | "confirmation_required" | "definition_changed" | "confirmation_declined" | "url_elicitation_required" | "input_required" | "payload_too_large" | "unsupported_media_type" | "program_failed" | "expression_failed" | "upstream_rejected" | "rate_limited" | "upstream_rate_limited" | "budget_exceeded" | "internal" | "upstream_failed" | "upstream_too_large" | "unavailable" | "circuit_open" | "upstream_timeout";
            /** @description Id of the request, as in the logs. */
            requestId: string;
            /** @description Further facts about the error. */
            details?: {
                [key: string]: unknown;
            };
        };
        /** @description Rules of what may be used through a server. */
        Restrictions: {
            /** @description Which connectors may be used. */
            connectors?: {
                /**
                 * @description `allowlist`: only what is listed. `blocklist`: everything but what is listed.
                 * @enum {string}
                 */
                mode?: "allowlist" | "blocklist";
                /** @description Ids that are allowed. */
                allowedIds?: string[];
                /** @description Ids that are denied. */
                blockedIds?: string[];
            };
            /** @description Which actions may be used. */
            actions?: {
                /**
                 * @description `allowlist`: only what is listed. `blocklist`: everything but what is listed.
                 * @enum {string}
                 */
                mode?: "allowlist" | "blocklist";
                /** @description `actionId`, of any connector, or `connectorId.actionId`. `*` stands for any text within one part, at most 4 times in an entry. */
                allowedActions?: string[];
                /** @description `actionId`, of any connector, or `connectorId.actionId`. `*` stands for any text within one part, at most 4 times in an entry. */
                blockedActions?: string[];
            };
            /** @description Which users may use the server. */
            users?: {
                /**
                 * @description `allowlist`: only what is listed. `blocklist`: everything but what is listed.
                 * @enum {string}
                 */
                mode?: "allowlist" | "blocklist";
                /** @description Ids that are allowed. */
                allowedIds?: string[];
                /** @description Ids that are denied. */
                blockedIds?: string[];
            };
            /** @description Which effects actions may have. */
            effects?: {
                /** @description Effects that actions may have. Other actions are hidden and rejected; an empty list rejects all. */
                allowed?: ("read" | "write" | "destructive")[];
            };
            /** @description Effects whose calls need the user’s agreement before they run. */
            confirm?: ("read" | "write" | "destructive")[];
        };
        /** @description A limit of calls in a window that slides. */
        Budget: {
            /**
             * @description Calls that are counted together: all of the server, or those of each user, connector or action.
             * @enum {string}
             */
            per: "server" | "user" | "connector" | "action";
            /**
             * @description Counts only calls with this effect. Absent: all.
             * @enum {string}
             */
            effect?: "read" | "write" | "destructive";
            /** @description Calls that the window allows, 1 to 1,000,000. */
            limit: number;
            /**
             * @description Length of the window, an hour or a day.
             * @enum {string}
             */
            window: "1h" | "1d";
        };
        /** @description Stops calls to an action of an account after failures in a row; null: never. */
        Circuit: {
            /** @description Failures in a row that stop the calls, 1 to 1,000. */
            failures: number;
            /** @description Seconds until the next call is sent as a trial, 1 to 3,600. */
            openSeconds: number;
        };
        /** @description An MCP server with its access token. */
        ServerWithToken: {
            /** @description Id of an MCP server. */
            serverId: string;
            /** @description Name of the server, unique in the environment, case-insensitive. */
            name: string;
            /** @description Purpose of the server. */
            description: string;
            /** @description Text that is added to the instructions for the model. */
            customInstructions: string;
            /**
             * Format: uri
             * @description MCP address for an API key or JWT.
             */
            url: string;
            /**
             * Format: uri
             * @description MCP address with its token; ends in *** for keys without servers:token.
             */
            accessUrl: string;
            /** @description Rules that limit what the server allows. Absent: it allows everything. */
            restrictions: components["schemas"]["Restrictions"];
            /** @description Whether a restriction can deny something. */
            hasRestrictions: boolean;
            /** @description Id of the user who owns the server; null when it has no owner. */
            ownerUserId: string | null;
            /** @description Whether a JWT of its owner created it. Then only its owner can use it. */
            createdByUser: boolean;
            /**
             * @description `direct`: a tool for each action. `discovery`: only built-in tools. `auto`: direct for few actions.
             * @enum {string}
             */
            toolMode: "auto" | "direct" | "discovery";
            /**
             * @description Whether programs (`run_code_svc`) are offered. `auto`: above 50 visible actions.
             * @enum {string}
             */
            codeMode: "auto" | "on" | "off";
            /** @description Whether it is enabled. */
            enabled: boolean;
            /** @description Hides tools whose definitions differ from those approved with POST /api/tools/approve. */
            pinTools: boolean;
            /** @description Limits of the calls of the server. Absent at a new server: none. */
            budgets: components["schemas"]["Budget"][];
            /**
             * @description `on`: an equal write within ten minutes over MCP is refused as a possible duplicate. `off`: it runs.
             * @enum {string}
             */
            duplicateGuard: "on" | "off";
            /** @description When calls to an action of an account are stopped because they fail in a row. Null: never. Absent at a new server: after 10 failures, for 60 seconds. */
            circuit: components["schemas"]["Circuit"] | null;
            /** @description Expiry of the access token, ISO 8601 in UTC; null when it does not expire. */
            tokenExpiresAt: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            updatedAt: string;
            /** @description Shown only here and after a rotation; null for keys without servers:token. */
            accessToken: string | null;
        };
        /** @description An MCP server. */
        Server: {
            /** @description Id of an MCP server. */
            serverId: string;
            /** @description Name of the server, unique in the environment, case-insensitive. */
            name: string;
            /** @description Purpose of the server. */
            description: string;
            /** @description Text that is added to the instructions for the model. */
            customInstructions: string;
            /**
             * Format: uri
             * @description MCP address for an API key or JWT.
             */
            url: string;
            /**
             * Format: uri
             * @description MCP address with its token; ends in *** for keys without servers:token.
             */
            accessUrl: string;
            /** @description Rules that limit what the server allows. Absent: it allows everything. */
            restrictions: components["schemas"]["Restrictions"];
            /** @description Whether a restriction can deny something. */
            hasRestrictions: boolean;
            /** @description Id of the user who owns the server; null when it has no owner. */
            ownerUserId: string | null;
            /** @description Whether a JWT of its owner created it. Then only its owner can use it. */
            createdByUser: boolean;
            /**
             * @description `direct`: a tool for each action. `discovery`: only built-in tools. `auto`: direct for few actions.
             * @enum {string}
             */
            toolMode: "auto" | "direct" | "discovery";
            /**
             * @description Whether programs (`run_code_svc`) are offered. `auto`: above 50 visible actions.
             * @enum {string}
             */
            codeMode: "auto" | "on" | "off";
            /** @description Whether it is enabled. */
            enabled: boolean;
            /** @description Hides tools whose definitions differ from those approved with POST /api/tools/approve. */
            pinTools: boolean;
            /** @description Limits of the calls of the server. Absent at a new server: none. */
            budgets: components["schemas"]["Budget"][];
            /**
             * @description `on`: an equal write within ten minutes over MCP is refused as a possible duplicate. `off`: it runs.
             * @enum {string}
             */
            duplicateGuard: "on" | "off";
            /** @description When calls to an action of an account are stopped because they fail in a row. Null: never. Absent at a new server: after 10 failures, for 60 seconds. */
            circuit: components["schemas"]["Circuit"] | null;
            /** @description Expiry of the access token, ISO 8601 in UTC; null when it does not expire. */
            tokenExpiresAt: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            updatedAt: string;
        };
        /** @description Result of a tool, or a question to its user. */
        ToolCallResult: {
            /**
             * @description `complete`, or `input_required` when the user is asked.
             * @enum {string}
             */
            resultType: "complete" | "input_required";
            /** @description Content of the result, in the blocks of MCP. */
            content?: {
                [key: string]: unknown;
            }[];
            /** @description The result as data. */
            structuredContent?: {
                [key: string]: unknown;
            };
            /** @description True when the tool failed; absent otherwise. */
            isError?: boolean;
            /** @description Questions to the user, by key; with `input_required`. */
            inputRequests?: {
                [key: string]: {
                    /** @description Method of MCP. */
                    method: string;
                    /** @description The message, and the schema or the link of the question. */
                    params: {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description State to send with the answers; with `input_required`. */
            requestState?: string;
        };
        /** @description Position of a page in its list. */
        Pagination: {
            /** @description Whether more records follow. */
            hasMore: boolean;
            /** @description Offset of the next page; absent when there is none. */
            nextOffset?: number;
            /** @description Cursor of the next page; absent when there is none. */
            nextCursor?: string;
        };
        /** @description Cost of a list of tools. */
        ToolCost: {
            /** @description Number of tools. */
            tools: number;
            /** @description Size of the definitions in tools/list, bytes. */
            bytes: number;
            /** @description Estimated tokens for a model. */
            tokens: number;
        };
        /** @description An end user. */
        User: {
            /** @description Id of an end user. */
            userId: string;
            /** @description Name of the user in your application. */
            username: string;
            /** @description Data of your application about the user. */
            metadata: {
                [key: string]: unknown;
            };
            /** @description Whether it is enabled. */
            enabled: boolean;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            updatedAt: string;
        };
        /** @description A supported app. */
        Connector: {
            /** @description Id of a connector, such as `shopify`. */
            connectorId: string;
            /** @description Name of the app. */
            name: string;
            /** @description Description of the app. */
            description: string;
            /** @description Categories of the app. */
            categories: string[];
            /**
             * Format: uri
             * @description Address of the icon.
             */
            iconUrl: string;
            /**
             * Format: uri
             * @description Address of the website.
             */
            website: string;
            /** @description Types of credentials that it accepts. */
            authentication: string[];
            /** @description Number of its actions. */
            actionCount: number;
            /** @description OAuth scopes; empty where there is no OAuth. */
            scopes: string[];
        };
        /** @description Summary of an action. */
        ActionSummary: {
            /** @description Id of an action of the connector. */
            actionId: string;
            /** @description Name of the action. */
            name: string;
            /** @description Description of the action. */
            description: string;
            /**
             * @description `read`, `write` or `destructive`.
             * @enum {string}
             */
            effect: "read" | "write" | "destructive";
            /** @description Whether it returns pages of records. */
            list: boolean;
            /** @description True for the raw call of the connector, which MCP servers allow only by its exact name. */
            raw?: boolean;
        };
        /** @description A unified model or event source whose events can be subscribed to. */
        EventSource: {
            /** @description Scope of subscriptions and of triggers of workflows. */
            scope: string;
            /** @description Name of the scope for people. */
            title: string;
            /** @description Sentence for people about what happened. */
            description?: string;
            /** @description Events that it reports. */
            events: ("created" | "updated" | "deleted")[];
            /** @description Whether webhooks of the app can report them; otherwise the app is polled. */
            native: boolean;
        };
        /** @description A supported app with its first actions, its unified models and the scopes of its events. */
        ConnectorDetails: {
            /** @description Id of a connector, such as `shopify`. */
            connectorId: string;
            /** @description Name of the app. */
            name: string;
            /** @description Description of the app. */
            description: string;
            /** @description Categories of the app. */
            categories: string[];
            /**
             * Format: uri
             * @description Address of the icon.
             */
            iconUrl: string;
            /**
             * Format: uri
             * @description Address of the website.
             */
            website: string;
            /** @description Types of credentials that it accepts. */
            authentication: string[];
            /** @description Number of its actions. */
            actionCount: number;
            /** @description OAuth scopes; empty where there is no OAuth. */
            scopes: string[];
            /** @description The first 50 actions. */
            actions: components["schemas"]["ActionSummary"][];
            /** @description Scopes of its unified models. */
            models: string[];
            /** @description Scopes whose events can be subscribed to. */
            events: components["schemas"]["EventSource"][];
        };
        /** @description An action of a connector. */
        Action: {
            /** @description Id of an action of the connector. */
            actionId: string;
            /** @description Name of the action. */
            name: string;
            /** @description Description of the action. */
            description: string;
            /**
             * @description `read`, `write` or `destructive`.
             * @enum {string}
             */
            effect: "read" | "write" | "destructive";
            /** @description Whether it returns pages of records. */
            list: boolean;
            /** @description True for the raw call of the connector, which MCP servers allow only by its exact name. */
            raw?: boolean;
            /** @description Id of a connector, such as `shopify`. */
            connectorId: string;
            /** @description JSON Schema 2020-12 */
            inputSchema: {
                [key: string]: unknown;
            };
            /** @description JSON Schema 2020-12 */
            outputSchema: {
                [key: string]: unknown;
            };
            /** @description How the app pages the list; null when it is not a list. */
            pagination: {
                /** @description Paging of the app: `offset`, `page`, `cursor`, `link` or `keyset`. */
                style: string;
            } | null;
            /** @description Parameter values that change the effect. `effect` is the most severe one. */
            effectWhen?: {
                parameter: string;
                /** @description Values of the parameter. */
                in?: unknown[];
                /**
                 * @description `read`, `write` or `destructive`.
                 * @enum {string}
                 */
                effect: "read" | "write" | "destructive";
            }[];
            /** @description Credential types that can run it; absent when all can. */
            authentication?: string[];
            /** @description OAuth scopes that it needs: one scope of each entry. */
            scopes?: string[][];
            /** @description SHA-256 of the definition, as in `_meta` of tools/list. */
            hash: string;
        };
        /** @description Result of an action. */
        ExecutionResult: {
            /** @description The value that the app returned; a list holds the records of this page. */
            data: unknown;
            /** @description Position of this page in the list. */
            pagination?: components["schemas"]["Pagination"];
            /** @description Members of `fields` that no record has. */
            unmatchedFields?: string[];
            /** @description How the call is undone, where its connector names an inverse. */
            undo?: {
                /** @description Token for the tool `undo_action_svc`, for the same user and server. */
                undoToken: string;
                /**
                 * Format: date-time
                 * @description ISO 8601, UTC
                 */
                expiresAt: string;
            };
            /** @description Parts of the request that had one meaning and were corrected; absent without any. */
            corrections?: {
                /** @description Place in the request, dotted; `path.` begins an id of the path. */
                path: string;
                /** @description The value that was sent; shortened when it is long. */
                from: unknown;
                /** @description The value or the name that was read; `(left out)` for an ignored null. */
                to: unknown;
            }[];
        };
        /** @description A file of an end user. */
        File: {
            /** @description Id of a file. */
            fileId: string;
            /** @description Size of the content, bytes. */
            size: number;
            /** @description SHA-256 of the content, hexadecimal. */
            sha256: string;
            /** @description Media type of the content. */
            mediaType: string;
            /** @description Name of the file. */
            name?: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            expiresAt: string;
        };
        /** @description Operations and parts of a document that an import left out or changed. */
        OpenApiReport: {
            /** @description Operations in the document. */
            operations: number;
            /** @description Operations that became actions. */
            imported: number;
            /** @description Operations that `include` does not choose. */
            notChosen: number;
            /** @description Chosen operations that no action can call. */
            leftOut: {
                /** @description The operationId. */
                operation: string;
                /** @description Reason that the record does not fit the model. */
                reason: string;
            }[];
            /** @description Parts of the document that the connector has in another form. */
            approximated: {
                place: string;
                what: string;
            }[];
            /** @description Number of entries that the two lists do not have. */
            moreEntries: number;
        };
        /** @description Tools that an import left out or changed. */
        ImportReport: {
            /** @description Number of tools that became actions. */
            tools: number;
            /** @description Records of the page that do not fit the model; absent when all do. */
            leftOut: {
                /** @description Name of the tool at the server. */
                name: string;
                /** @description Reason that the record does not fit the model. */
                reason: string;
            }[];
            changed: {
                /** @description Name of the tool at the server. */
                name: string;
                /** @description How the definition differs from the approved one. */
                change: string;
            }[];
        };
        /** @description The difference from the version before. */
        ImportChanges: {
            /** @description Ids of new actions. */
            added: string[];
            /** @description Ids of actions that are gone. */
            removed: string[];
            /** @description Actions that differ, with sentences about how. */
            changed: {
                /** @description Id of an action of the connector. */
                actionId: string;
                differences: string[];
            }[];
            /** @description Changes after which calls or credentials of today fail. */
            breaking: string[];
            /** @description Number of entries that the lists do not have. */
            moreEntries: number;
        };
        /** @description A custom connector with its newest version. */
        CustomConnector: {
            /** @description Id of a connector, such as `shopify`. */
            connectorId: string;
            /** @description Number of the version. */
            version: number;
            name: string;
            /**
             * @description Form of its source: `definition` is a connector file, `mcp` a remote MCP server, `openapi` an imported document.
             * @enum {string}
             */
            kind: "definition" | "mcp" | "openapi";
            /** @description Where its credentials are sent. Credentials of other origins are refused. */
            origins: string[];
            description: string;
            /** @description Categories of the app. */
            categories: string[];
            /** @description Place of a connector with its id that is used instead; null when there is none. */
            hiddenBy: ("shipped" | "folder") | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            updatedAt: string;
        };
        /** @description A version of a custom connector. */
        CustomConnectorVersion: {
            /** @description Id of a connector, such as `shopify`. */
            connectorId: string;
            /** @description Number of the version. */
            version: number;
            name: string;
            /**
             * @description Form of its source: `definition` is a connector file, `mcp` a remote MCP server, `openapi` an imported document.
             * @enum {string}
             */
            kind: "definition" | "mcp" | "openapi";
            /** @description Where its credentials are sent. Credentials of other origins are refused. */
            origins: string[];
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            createdAt: string;
            /** @description Caller that sent it: `key:<keyId>`. */
            createdBy: string;
        };
        /** @description A member that differs between two versions. */
        ConnectorDifference: {
            /** @description Dotted path of the member. */
            path: string;
            /**
             * @description How the definition differs from the approved one.
             * @enum {string}
             */
            change: "added" | "removed" | "changed";
            /** @description The value in the first version. */
            before?: unknown;
            /** @description The value in the second version. */
            after?: unknown;
        };
        /** @description The changes of an operator to a custom connector. */
        ConnectorOverlay: {
            /** @description Id of a connector, such as `shopify`. */
            connectorId: string;
            /** @description Number of the newest version. */
            version: number;
            /** @description The changes by the operator, as a merge patch (RFC 7396); null: none. */
            overlay: {
                [key: string]: unknown;
            } | null;
            /** @description Ids of actions that the overlay changes and the connector does not have now. */
            unused: string[];
        };
        /** @description An account of a user at an app. It never holds a secret. */
        Credential: {
            /** @description Id of a stored credential. */
            credentialId: string;
            /** @description Equal to credentialId. */
            connectionId: string;
            /** @description Id of an end user. */
            userId: string;
            /** @description Id of a connector, such as `shopify`. */
            connectorId: string;
            /** @description How the credential authenticates. */
            type: string;
            /** @description Name of the credential. */
            name: string;
            /**
             * @description `active`, `needs_reconnect` or `revoked`.
             * @enum {string}
             */
            state: "active" | "needs_reconnect" | "revoked";
            /** @description The reason when it is not active. */
            reason?: string;
            /** @description Message of the app about the reason. */
            appMessage?: string;
            /** @description OAuth scopes that the user has granted. */
            scopes?: string[];
            /** @description The account at the app; absent when the app does not name it. */
            account?: {
                /** @description Id of the account at the app. */
                id: string;
                /** @description Name of the account at the app. */
                name?: string;
            };
            /** @description Whether calls that name no credential use this one. */
            default: boolean;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            updatedAt: string;
            /** @description Up to a minute late. */
            lastUsedAt: string | null;
            /**
             * Format: date-time
             * @description Expiry of the access token. Gatehouse renews the token earlier.
             */
            expiresAt?: string;
            /** @description Consecutive failed renewals of the access token; absent when the last one succeeded. */
            refreshFailures?: number;
        };
        /** @description A credential, and whether the app was called. */
        CheckedCredential: {
            /** @description Id of a stored credential. */
            credentialId: string;
            /** @description Equal to credentialId. */
            connectionId: string;
            /** @description Id of an end user. */
            userId: string;
            /** @description Id of a connector, such as `shopify`. */
            connectorId: string;
            /** @description How the credential authenticates. */
            type: string;
            /** @description Name of the credential. */
            name: string;
            /**
             * @description `active`, `needs_reconnect` or `revoked`.
             * @enum {string}
             */
            state: "active" | "needs_reconnect" | "revoked";
            /** @description The reason when it is not active. */
            reason?: string;
            /** @description Message of the app about the reason. */
            appMessage?: string;
            /** @description OAuth scopes that the user has granted. */
            scopes?: string[];
            /** @description The account at the app; absent when the app does not name it. */
            account?: {
                /** @description Id of the account at the app. */
                id: string;
                /** @description Name of the account at the app. */
                name?: string;
            };
            /** @description Whether calls that name no credential use this one. */
            default: boolean;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            updatedAt: string;
            /** @description Up to a minute late. */
            lastUsedAt: string | null;
            /**
             * Format: date-time
             * @description Expiry of the access token. Gatehouse renews the token earlier.
             */
            expiresAt?: string;
            /** @description Consecutive failed renewals of the access token; absent when the last one succeeded. */
            refreshFailures?: number;
            /** @description Whether the app was called. */
            checked: boolean;
        };
        /** @description The webhooks of a connection that a person sets up. */
        ConnectionWebhook: {
            /** @description Id of a stored credential. */
            credentialId: string;
            /** @description Address to enter at the app. Absent before it is made. */
            url?: string;
            /**
             * @description `none`: no address is made. `waiting`: no genuine webhook has come, and the app is polled. `registered`: webhooks come, and the app is polled hourly.
             * @enum {string}
             */
            state: "none" | "waiting" | "registered";
            /** @description Time of the last genuine webhook, up to a minute late. */
            lastAt: string | null;
            /** @description Where at the app the address belongs, and which events to choose. */
            help: string;
            /**
             * @description `gatehouse`: enter our secret at the app. `app`: enter its secret here.
             * @enum {string}
             */
            secretFrom: "gatehouse" | "app";
        };
        /** @description The webhooks of a connection, and their secret. */
        ConnectionWebhookWithSecret: {
            /** @description Id of a stored credential. */
            credentialId: string;
            /** @description Address to enter at the app. Absent before it is made. */
            url?: string;
            /**
             * @description `none`: no address is made. `waiting`: no genuine webhook has come, and the app is polled. `registered`: webhooks come, and the app is polled hourly.
             * @enum {string}
             */
            state: "none" | "waiting" | "registered";
            /** @description Time of the last genuine webhook, up to a minute late. */
            lastAt: string | null;
            /** @description Where at the app the address belongs, and which events to choose. */
            help: string;
            /**
             * @description `gatehouse`: enter our secret at the app. `app`: enter its secret here.
             * @enum {string}
             */
            secretFrom: "gatehouse" | "app";
            /** @description Secret to enter at the app, where Gatehouse makes it. Shown only here. */
            secret?: string;
        };
        /** @description An OAuth app, without its secret. */
        OAuthApp: {
            /** @description Id of a connector, such as `shopify`. */
            connectorId: string;
            /** @description Client id of the OAuth app. */
            clientId: string;
            /** @description Whether a client secret is stored. */
            hasSecret: boolean;
            /** @description OAuth scopes to request; null means the scopes of the connector. */
            scopes: string[] | null;
            /** @description The host where it is registered. Missing fields have the default of the connector. */
            fields: {
                [key: string]: string;
            };
            /** @description Register this address at the third party. */
            redirectUri: string;
            /** @description null: the app is part of Gatehouse. */
            createdAt: string | null;
            /** @description null: the app is part of Gatehouse. */
            updatedAt: string | null;
        };
        /** @description How connecting ended. */
        ConnectResult: {
            /**
             * @description Whether the account is connected.
             * @constant
             */
            success: true;
            /** @description Id of a connection. It equals the credentialId. */
            connectionId: string;
            /** @description Equal to connectionId. */
            credentialId: string;
            /** @description Id of a connector, such as `shopify`. */
            connectorId: string;
            /** @description Name of the credential. */
            name: string;
        } | {
            /**
             * @description Whether the account is connected.
             * @constant
             */
            success: false;
            /** @description closed, access_denied, provider_refused, provider_failed … */
            error: string;
            /** @description Message for the user. */
            message: string;
        };
        /** @description A session that connects an account. */
        ConnectSession: {
            /** @description Id of a connect session. */
            sessionId: string;
            /**
             * @description State of the session.
             * @enum {string}
             */
            status: "open" | "authorizing" | "choosing" | "succeeded" | "failed";
            /**
             * @description How the session was opened.
             * @enum {string}
             */
            via: "modal" | "link";
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            expiresAt: string;
            /** @description Name, logo and colour of the application. */
            branding: {
                /** @description Name of the application. */
                name: string;
                /**
                 * Format: uri
                 * @description Address of the logo.
                 */
                logoUrl?: string;
                /** @description Colour of buttons, `#rrggbb`. */
                color?: string;
            };
            /** @description The end user. */
            user: {
                /** @description Name of the user in your application. */
                username: string;
            };
            /** @description Apps to choose from. */
            connectors: {
                /** @description Id of a connector, such as `shopify`. */
                connectorId: string;
                /** @description Name of the app. */
                name: string;
                /** @description Description of the app. */
                description: string;
                /** @description Categories of the app. */
                categories: string[];
                /** @description Address of the icon. */
                iconUrl: string;
                /** @description Colour of buttons, `#rrggbb`. */
                color: string;
                /** @description Ways to authenticate. */
                authentication: {
                    /** @description How the credential authenticates. */
                    type: string;
                    /** @description Name of this way to authenticate. */
                    title: string;
                    /** @description OAuth scopes. */
                    scopes?: string[];
                    /** @description JSON Schema of the input. */
                    inputSchema: {
                        [key: string]: unknown;
                    };
                    /** @description A filled-in example of the input. */
                    sampleInput: {
                        [key: string]: string;
                    };
                    /** @description Documentation of the app; null when there is none. */
                    docsUrl: string | null;
                    /** @description Whether it can be used now. */
                    ready: boolean;
                }[];
            }[];
            /** @description The accounts that the consent reaches, while the person has to choose one. */
            choosing?: {
                /** @description Id of a connector, such as `shopify`. */
                connectorId: string;
                /** @description The accounts to choose from. */
                accounts: {
                    /** @description Id of the account at the app. */
                    accountId: string;
                    /** @description Name of the account at the app. */
                    label: string;
                    /** @description A second line, such as an address. */
                    detail?: string;
                    /** @description Whether the user has connected it already. */
                    connected: boolean;
                }[];
            };
            /** @description The credential to reconnect. */
            reconnect?: {
                /** @description Id of a stored credential. */
                credentialId: string;
                /** @description Name of the credential. */
                name: string;
            };
            /** @description Whether the user returns to the application at the end. */
            returns: boolean;
            /** @description Result of the session. */
            result?: components["schemas"]["ConnectResult"];
        };
        /** @description A session that connects an account, with its link. */
        ModalSession: {
            /** @description Id of a connect session. */
            sessionId: string;
            /**
             * @description State of the session.
             * @enum {string}
             */
            status: "open" | "authorizing" | "choosing" | "succeeded" | "failed";
            /**
             * @description How the session was opened.
             * @enum {string}
             */
            via: "modal" | "link";
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            expiresAt: string;
            /** @description Name, logo and colour of the application. */
            branding: {
                /** @description Name of the application. */
                name: string;
                /**
                 * Format: uri
                 * @description Address of the logo.
                 */
                logoUrl?: string;
                /** @description Colour of buttons, `#rrggbb`. */
                color?: string;
            };
            /** @description The end user. */
            user: {
                /** @description Name of the user in your application. */
                username: string;
            };
            /** @description Apps to choose from. */
            connectors: {
                /** @description Id of a connector, such as `shopify`. */
                connectorId: string;
                /** @description Name of the app. */
                name: string;
                /** @description Description of the app. */
                description: string;
                /** @description Categories of the app. */
                categories: string[];
                /** @description Address of the icon. */
                iconUrl: string;
                /** @description Colour of buttons, `#rrggbb`. */
                color: string;
                /** @description Ways to authenticate. */
                authentication: {
                    /** @description How the credential authenticates. */
                    type: string;
                    /** @description Name of this way to authenticate. */
                    title: string;
                    /** @description OAuth scopes. */
                    scopes?: string[];
                    /** @description JSON Schema of the input. */
                    inputSchema: {
                        [key: string]: unknown;
                    };
                    /** @description A filled-in example of the input. */
                    sampleInput: {
                        [key: string]: string;
                    };
                    /** @description Documentation of the app; null when there is none. */
                    docsUrl: string | null;
                    /** @description Whether it can be used now. */
                    ready: boolean;
                }[];
            }[];
            /** @description The accounts that the consent reaches, while the person has to choose one. */
            choosing?: {
                /** @description Id of a connector, such as `shopify`. */
                connectorId: string;
                /** @description The accounts to choose from. */
                accounts: {
                    /** @description Id of the account at the app. */
                    accountId: string;
                    /** @description Name of the account at the app. */
                    label: string;
                    /** @description A second line, such as an address. */
                    detail?: string;
                    /** @description Whether the user has connected it already. */
                    connected: boolean;
                }[];
            };
            /** @description The credential to reconnect. */
            reconnect?: {
                /** @description Id of a stored credential. */
                credentialId: string;
                /** @description Name of the credential. */
                name: string;
            };
            /** @description Whether the user returns to the application at the end. */
            returns: boolean;
            /** @description Result of the session. */
            result?: components["schemas"]["ConnectResult"];
            /** @description The secret part of the link. */
            link: string;
        };
        /** @description A connected account with its app. */
        PortalAccount: {
            /** @description Id of a stored credential. */
            credentialId: string;
            /** @description Equal to credentialId. */
            connectionId: string;
            /** @description Id of an end user. */
            userId: string;
            /** @description Id of a connector, such as `shopify`. */
            connectorId: string;
            type: string;
            name: string;
            /** @enum {string} */
            state: "active" | "needs_reconnect" | "revoked";
            /** @description The reason when it is not active. */
            reason?: string;
            /** @description Message of the app about the reason. */
            appMessage?: string;
            /** @description OAuth scopes that the user has granted. */
            scopes?: string[];
            /** @description The account at the app; absent when the app does not name it. */
            account?: {
                /** @description Id of the account at the app. */
                id: string;
                /** @description Name of the account at the app. */
                name?: string;
            };
            /** @description Whether calls that name no credential use this one. */
            default: boolean;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            updatedAt: string;
            /** @description Up to a minute late. */
            lastUsedAt: string | null;
            /**
             * Format: date-time
             * @description Expiry of the access token. Gatehouse renews the token earlier.
             */
            expiresAt?: string;
            /** @description Consecutive failed renewals of the access token; absent when the last one succeeded. */
            refreshFailures?: number;
            /** @description The app of the account. */
            app: {
                /** @description Name of the app. */
                name: string;
                /** @description Address of its icon; null when its connector was removed. */
                iconUrl: string | null;
            };
        };
        /** @description A webhook subscription, as its user sees it. */
        PortalSubscription: {
            /** @description Id of a webhook subscription. */
            subscriptionId: string;
            /** @description Subject of the events, such as `commerce/orders`. */
            scope: string;
            /** @description Event types to deliver. */
            events: string[];
            /**
             * @description `disabled` collects no deliveries.
             * @enum {string}
             */
            status: "active" | "disabled";
            /** @description The reason that it is disabled, or that its backfill is incomplete. */
            reason?: string;
            /**
             * @description `native`: by webhooks of the app. `polling`: by polls of the app.
             * @enum {string}
             */
            source?: "native" | "polling";
            /** @description Error of the last call to its app, so events may be missing. Absent once a poll succeeds. */
            sourceReason?: string;
            /** @description Time since which every attempt failed. */
            failingSince: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            createdAt: string;
            /** @description Id of a connection. It equals the credentialId. */
            connectionId: string;
            /** @description Name of the account. */
            account: string;
            /** @description The app of the account. */
            app: {
                /** @description Name of the app. */
                name: string;
                /** @description Address of its icon; null when its connector was removed. */
                iconUrl: string | null;
            };
            /** @description Host that receives the deliveries. */
            receiver: string;
        };
        /** @description A delivery with its attempts, as its user sees it. */
        PortalDelivery: {
            /** @description Sent as webhook-id, the same on every attempt. */
            deliveryId: string;
            /** @description Id of a webhook subscription. */
            subscriptionId: string;
            /** @description Subject of the events, such as `commerce/orders`. */
            scope: string;
            /** @description Type of the event. */
            event: string;
            /** @description Id of the unified record. */
            recordId: string;
            /** @description Number of the delivery in its subscription. */
            sequence: number;
            /**
             * @description State of the delivery.
             * @enum {string}
             */
            status: "waiting" | "succeeded" | "dead" | "cancelled";
            /** @description Number of attempts so far. */
            attemptCount: number;
            /** @description HTTP status of the last answer. */
            lastStatus: number | null;
            /** @description Why the last attempt failed: status, redirect, timeout, blocked_address, dns, refused, reset, tls, protocol or unreachable. */
            lastError: string | null;
            /** @description Null during an attempt and after the last one. */
            nextAttemptAt: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            updatedAt: string;
            /** @description The attempts, oldest first. */
            attempts: {
                /** @description Number of the attempt, from 1. */
                number: number;
                /**
                 * Format: date-time
                 * @description ISO 8601, UTC
                 */
                at: string;
                /** @description Duration in milliseconds. */
                durationMs: number;
                /** @description HTTP status of the answer; null when there was none. */
                status: number | null;
                /** @description Reason that the attempt failed; null when it succeeded. */
                error: string | null;
            }[];
        };
        /** @description A postal address. */
        Address: {
            /** @description First name. Default: `null`. */
            firstName: string | null;
            /** @description Last name. Default: `null`. */
            lastName: string | null;
            /** @description Name of the company. Default: `null`. */
            company: string | null;
            /** @description First line of the address. Default: `null`. */
            address1: string | null;
            /** @description Second line of the address. Default: `null`. */
            address2: string | null;
            /** @description City. Default: `null`. */
            city: string | null;
            /** @description State, province or region. Default: `null`. */
            region: string | null;
            /** @description Postal code. Default: `null`. */
            postalCode: string | null;
            /** @description Two letters, ISO 3166-1, where known. Default: `null`. */
            country: string | null;
            /** @description Phone number in the form of the app. Default: `null`. */
            phone: string | null;
        };
        /** @description A customer in unified form. */
        Customer: {
            /** @description First name. Default: `null`. */
            firstName: string | null;
            /** @description Last name. Default: `null`. */
            lastName: string | null;
            /** @description Email address. Default: `null`. */
            email: string | null;
            /** @description Phone number in the form of the app. Default: `null`. */
            phone: string | null;
            /** @description Name of the company. Default: `null`. */
            company: string | null;
            /** @description Currency, ISO 4217. Default: `null`. */
            currency: string | null;
            /** @description Tags of the record. Default: `[]`. */
            tags: string[];
            /** @description Addresses of the customer. Default: `[]`. */
            addresses: components["schemas"]["Address"][];
            /** @description Stable id of the record in Gatehouse. */
            id: string;
            /** @description The id at the app. */
            remoteId: string;
            /** @description Time of creation, ISO 8601 in UTC. */
            createdAt: string | null;
            /** @description Time of the last change, ISO 8601 in UTC. */
            updatedAt: string | null;
            /** @description Fields of the operator’s own mappings. */
            custom?: {
                [key: string]: unknown;
            };
            /** @description Why the record could not be read after it was written; absent otherwise. */
            incomplete?: string;
            /** @description The unchanged record of the app. */
            raw: unknown;
        };
        /** @description An order in unified form. */
        Order: {
            /** @description Number shown to people. Default: `null`. */
            orderNumber: string | null;
            /** @description State of the order. Default: `null`. */
            orderStatus: ("draft" | "open" | "completed" | "cancelled") | null;
            /** @description State of the payment. Default: `null`. */
            paymentStatus: ("pending" | "authorized" | "partially_paid" | "paid" | "partially_refunded" | "refunded" | "voided" | "failed") | null;
            /** @description State of the shipment. Default: `null`. */
            fulfillmentStatus: ("unfulfilled" | "partially_fulfilled" | "fulfilled" | "returned") | null;
            /** @description Currency, ISO 4217. Default: `null`. */
            currency: string | null;
            /** @description Total, a decimal string. Default: `null`. */
            totalPrice: string | null;
            /** @description Total of the items, a decimal string. Default: `null`. */
            subtotalPrice: string | null;
            /** @description Total of the discounts, a decimal string. Default: `null`. */
            totalDiscount: string | null;
            /** @description Shipping costs, a decimal string. Default: `null`. */
            totalShipping: string | null;
            /** @description Total of the taxes, a decimal string. Default: `null`. */
            totalTax: string | null;
            /** @description Customer of the order. Default: `null`. */
            customer: {
                /** @description Id of the customer at the app. Default: `null`. */
                customerId: string | null;
                /** @description First name. Default: `null`. */
                firstName: string | null;
                /** @description Last name. Default: `null`. */
                lastName: string | null;
                /** @description Email address. Default: `null`. */
                email: string | null;
                /** @description Phone number in the form of the app. Default: `null`. */
                phone: string | null;
            } | null;
            /** @description Items of the order. Default: `[]`. */
            lineItems: {
                /** @description Id of the record at the app. Default: `null`. */
                remoteId: string | null;
                /** @description Id of the product. Default: `null`. */
                productId: string | null;
                /** @description Id of the variant at the app. Default: `null`. */
                variantId: string | null;
                /** @description Title of the item. Default: `null`. */
                title: string | null;
                /** @description Stock keeping unit. Default: `null`. */
                sku: string | null;
                /** @description Number of units. Default: `null`. */
                quantity: number | null;
                /** @description Price of one unit, a decimal string. Default: `null`. */
                price: string | null;
                /** @description Cost of one unit, a decimal string. Default: `null`. */
                unitCost: string | null;
                /** @description Currency, ISO 4217. Default: `null`. */
                currency: string | null;
            }[];
            /** @description Billing address. Default: `null`. */
            billingAddress: components["schemas"]["Address"] | null;
            /** @description Shipping address. Default: `null`. */
            shippingAddress: components["schemas"]["Address"] | null;
            /** @description Note on the record. Default: `null`. */
            note: string | null;
            /** @description Tags of the record. Default: `[]`. */
            tags: string[];
            /** @description Stable id of the record in Gatehouse. */
            id: string;
            /** @description The id at the app. */
            remoteId: string;
            /** @description Time of creation, ISO 8601 in UTC. */
            createdAt: string | null;
            /** @description Time of the last change, ISO 8601 in UTC. */
            updatedAt: string | null;
            /** @description Fields of the operator’s own mappings. */
            custom?: {
                [key: string]: unknown;
            };
            /** @description Why the record could not be read after it was written; absent otherwise. */
            incomplete?: string;
            /** @description The unchanged record of the app. */
            raw: unknown;
        };
        /** @description A product in unified form. */
        Product: {
            /** @description Name of the product. Default: `null`. */
            productName: string | null;
            /** @description Type of the product. Default: `null`. */
            productType: string | null;
            /** @description State of the product. Default: `null`. */
            productStatus: ("active" | "draft" | "archived") | null;
            /** @description Address of the product. Default: `null`. */
            productUrl: string | null;
            /** @description Description of the product. Default: `null`. */
            description: string | null;
            /** @description Vendor of the product. Default: `null`. */
            vendor: string | null;
            /** @description Currency, ISO 4217. Default: `null`. */
            currency: string | null;
            /** @description Price of one unit, a decimal string. Default: `null`. */
            price: string | null;
            /** @description Stock keeping unit. Default: `null`. */
            sku: string | null;
            /** @description Tags of the record. Default: `[]`. */
            tags: string[];
            /** @description Images of the product. Default: `[]`. */
            images: {
                /** @description Address of the image. */
                src: string;
            }[];
            /** @description Variants of the product. */
            variants: {
                /** @description Id of the record at the app. Default: `null`. */
                remoteId: string | null;
                /** @description Title of the variant. Default: `null`. */
                title: string | null;
                /** @description Stock keeping unit. Default: `null`. */
                sku: string | null;
                /** @description Price of one unit, a decimal string. Default: `null`. */
                price: string | null;
                /** @description Options of the variant. Default: `[]`. */
                optionValues: {
                    /** @description Name of the option. Default: `null`. */
                    name: string | null;
                    /** @description Value of the option. Default: `null`. */
                    value: string | null;
                }[];
                /** @description Stock of the variant. Default: `null`. */
                inventory: {
                    /** @description Units in stock. Default: `null`. */
                    totalCount: number | null;
                } | null;
                /** @description Weight of the variant. Default: `null`. */
                weight: {
                    /** @description Weight in `unit`. Default: `null`. */
                    value: number | null;
                    /** @description Unit of the weight. Default: `null`. */
                    unit: string | null;
                } | null;
                /** @description Stable id of the variant in Gatehouse; null where the app gives the variant no id. */
                id: string | null;
                /** @description The `id` of its product. */
                productId: string;
            }[];
            /** @description Stable id of the record in Gatehouse. */
            id: string;
            /** @description The id at the app. */
            remoteId: string;
            /** @description Time of creation, ISO 8601 in UTC. */
            createdAt: string | null;
            /** @description Time of the last change, ISO 8601 in UTC. */
            updatedAt: string | null;
            /** @description Fields of the operator’s own mappings. */
            custom?: {
                [key: string]: unknown;
            };
            /** @description Why the record could not be read after it was written; absent otherwise. */
            incomplete?: string;
            /** @description The unchanged record of the app. */
            raw: unknown;
        };
        /** @description A contact in unified form. */
        Contact: {
            /** @description First name. Default: `null`. */
            firstName: string | null;
            /** @description Last name. Default: `null`. */
            lastName: string | null;
            /** @description E-mail addresses, the main one first. Default: `[]`. */
            emails: string[];
            /** @description Phone numbers, the main one first. Default: `[]`. */
            phones: string[];
            /** @description The app's ids of the companies, the main one first. Default: `[]`. */
            companyIds: string[];
            /** @description The app's id of the user who looks after it. Default: `null`. */
            ownerId: string | null;
            /** @description Position in the company. Default: `null`. */
            jobTitle: string | null;
            /** @description Name of the company. Default: `null`. */
            companyName: string | null;
            /** @description Address of the website. Default: `null`. */
            website: string | null;
            /** @description Addresses of the customer. Default: `[]`. */
            addresses: components["schemas"]["Address"][];
            /** @description Tags of the record. Default: `[]`. */
            tags: string[];
            /** @description Stable id of the record in Gatehouse. */
            id: string;
            /** @description The id at the app. */
            remoteId: string;
            /** @description Time of creation, ISO 8601 in UTC. */
            createdAt: string | null;
            /** @description Time of the last change, ISO 8601 in UTC. */
            updatedAt: string | null;
            /** @description Fields of the operator’s own mappings. */
            custom?: {
                [key: string]: unknown;
            };
            /** @description Why the record could not be read after it was written; absent otherwise. */
            incomplete?: string;
            /** @description The unchanged record of the app. */
            raw: unknown;
        };
        /** @description A company in unified form. */
        Company: {
            /** @description Name of the company. Default: `null`. */
            name: string | null;
            /** @description Domain of the company. Default: `null`. */
            domain: string | null;
            /** @description Phone numbers, the main one first. Default: `[]`. */
            phones: string[];
            /** @description Addresses of the customer. Default: `[]`. */
            addresses: components["schemas"]["Address"][];
            /** @description Address of the website. Default: `null`. */
            website: string | null;
            /** @description Industry of the company. Default: `null`. */
            industry: string | null;
            /** @description Number of employees. Default: `null`. */
            employees: number | null;
            /** @description Description of the company. Default: `null`. */
            description: string | null;
            /** @description The app's id of the user who looks after it. Default: `null`. */
            ownerId: string | null;
            /** @description Tags of the record. Default: `[]`. */
            tags: string[];
            /** @description Stable id of the record in Gatehouse. */
            id: string;
            /** @description The id at the app. */
            remoteId: string;
            /** @description Time of creation, ISO 8601 in UTC. */
            createdAt: string | null;
            /** @description Time of the last change, ISO 8601 in UTC. */
            updatedAt: string | null;
            /** @description Fields of the operator’s own mappings. */
            custom?: {
                [key: string]: unknown;
            };
            /** @description Why the record could not be read after it was written; absent otherwise. */
            incomplete?: string;
            /** @description The unchanged record of the app. */
            raw: unknown;
        };
        /** @description A deal in unified form. */
        Deal: {
            /** @description Name of the deal. Default: `null`. */
            name: string | null;
            /** @description Amount, a decimal string. Default: `null`. */
            amount: string | null;
            /** @description Currency, ISO 4217. Default: `null`. */
            currency: string | null;
            /** @description Stage by the name or id that the app uses. Default: `null`. */
            stage: string | null;
            /** @description State of the deal. Default: `null`. */
            status: ("open" | "won" | "lost") | null;
            /** @description Day on which the deal closes. Default: `null`. */
            closeDate: string | null;
            /** @description The app's ids of the contacts, the main one first. Default: `[]`. */
            contactIds: string[];
            /** @description The app's ids of the companies, the main one first. Default: `[]`. */
            companyIds: string[];
            /** @description Pipeline by the name or id that the app uses. Default: `null`. */
            pipeline: string | null;
            /** @description Probability from 0 to 1. Default: `null`. */
            probability: number | null;
            /** @description Description of the deal. Default: `null`. */
            description: string | null;
            /** @description The app's id of the user who looks after it. Default: `null`. */
            ownerId: string | null;
            /** @description Stable id of the record in Gatehouse. */
            id: string;
            /** @description The id at the app. */
            remoteId: string;
            /** @description Time of creation, ISO 8601 in UTC. */
            createdAt: string | null;
            /** @description Time of the last change, ISO 8601 in UTC. */
            updatedAt: string | null;
            /** @description Fields of the operator’s own mappings. */
            custom?: {
                [key: string]: unknown;
            };
            /** @description Why the record could not be read after it was written; absent otherwise. */
            incomplete?: string;
            /** @description The unchanged record of the app. */
            raw: unknown;
        };
        /** @description A customer or supplier in unified form. */
        AccountingContact: {
            /** @description Name of the customer or supplier. Default: `null`. */
            name: string | null;
            /** @description E-mail addresses, the main one first. Default: `[]`. */
            emails: string[];
            /** @description Phone numbers, the main one first. Default: `[]`. */
            phones: string[];
            /** @description Whether it buys; null where the app does not say. Default: `null`. */
            isCustomer: boolean | null;
            /** @description Whether it sells; null where the app does not say. Default: `null`. */
            isSupplier: boolean | null;
            /** @description Currency, ISO 4217. Default: `null`. */
            currency: string | null;
            /** @description First name. Default: `null`. */
            firstName: string | null;
            /** @description Last name. Default: `null`. */
            lastName: string | null;
            /** @description Address of the website. Default: `null`. */
            website: string | null;
            /** @description State of the contact. Default: `null`. */
            contactStatus: ("active" | "archived") | null;
            /** @description Tax number. Default: `null`. */
            taxNumber: string | null;
            /** @description Debt of the contact, a decimal string. It is negative where we owe the contact. Default: `null`. */
            balance: string | null;
            /** @description Addresses of the customer. Default: `[]`. */
            addresses: components["schemas"]["Address"][];
            /** @description Stable id of the record in Gatehouse. */
            id: string;
            /** @description The id at the app. */
            remoteId: string;
            /** @description Time of creation, ISO 8601 in UTC. */
            createdAt: string | null;
            /** @description Time of the last change, ISO 8601 in UTC. */
            updatedAt: string | null;
            /** @description Fields of the operator’s own mappings. */
            custom?: {
                [key: string]: unknown;
            };
            /** @description Why the record could not be read after it was written; absent otherwise. */
            incomplete?: string;
            /** @description The unchanged record of the app. */
            raw: unknown;
        };
        /** @description An invoice or a bill in unified form. */
        Invoice: {
            /** @description Number shown to people. Default: `null`. */
            number: string | null;
            /** @description The app's id of the customer or supplier. Default: `null`. */
            contactId: string | null;
            /** @description State of the invoice. Default: `null`. */
            status: ("draft" | "open" | "partially_paid" | "paid" | "void" | "uncollectible") | null;
            /** @description Day of the invoice. Default: `null`. */
            issueDate: string | null;
            /** @description Day on which it is due. Default: `null`. */
            dueDate: string | null;
            /** @description Currency, ISO 4217. Default: `null`. */
            currency: string | null;
            /** @description Total, a decimal string. Default: `null`. */
            total: string | null;
            /** @description Amount that is not paid yet, a decimal string. Default: `null`. */
            amountDue: string | null;
            /** @description Items of the order. Default: `[]`. */
            lineItems: {
                /** @description Id of the record at the app. Default: `null`. */
                remoteId: string | null;
                /** @description Text of the line. Default: `null`. */
                description: string | null;
                /** @description The app's id of the product or service. Default: `null`. */
                itemId: string | null;
                /** @description The app's id of the account in the books. Default: `null`. */
                accountId: string | null;
                /** @description Number of units. Default: `null`. */
                quantity: number | null;
                /** @description Price of one unit, a decimal string. Default: `null`. */
                unitPrice: string | null;
                /** @description Total of the taxes, a decimal string. Default: `null`. */
                totalTax: string | null;
                /** @description Total, a decimal string. Default: `null`. */
                total: string | null;
            }[];
            /** @description `sale`: sent to a customer. `purchase`: a bill of a supplier. Default: `null`. */
            invoiceKind: ("sale" | "purchase") | null;
            /** @description Total without taxes, a decimal string. Default: `null`. */
            subtotal: string | null;
            /** @description Total of the taxes, a decimal string. Default: `null`. */
            totalTax: string | null;
            /** @description Name of the customer or supplier. Default: `null`. */
            contactName: string | null;
            /** @description E-mail address of the customer or supplier. Default: `null`. */
            contactEmail: string | null;
            /** @description Reference of the sender or of the bank. Default: `null`. */
            reference: string | null;
            /** @description Note on the record. Default: `null`. */
            note: string | null;
            /** @description Default: `null`. */
            url: string | null;
            /** @description Stable id of the record in Gatehouse. */
            id: string;
            /** @description The id at the app. */
            remoteId: string;
            /** @description Time of creation, ISO 8601 in UTC. */
            createdAt: string | null;
            /** @description Time of the last change, ISO 8601 in UTC. */
            updatedAt: string | null;
            /** @description Fields of the operator’s own mappings. */
            custom?: {
                [key: string]: unknown;
            };
            /** @description Why the record could not be read after it was written; absent otherwise. */
            incomplete?: string;
            /** @description The unchanged record of the app. */
            raw: unknown;
        };
        /** @description A payment in unified form. */
        Payment: {
            /** @description The app's id of the invoice that it pays; null when it pays none, or several. Default: `null`. */
            invoiceId: string | null;
            /** @description Amount, a decimal string. Default: `null`. */
            amount: string | null;
            /** @description Currency, ISO 4217. Default: `null`. */
            currency: string | null;
            /** @description Day of the payment. Default: `null`. */
            date: string | null;
            /** @description `received`: from a customer. `sent`: to a supplier. Default: `null`. */
            paymentKind: ("received" | "sent") | null;
            /** @description State of the payment. Default: `null`. */
            paymentStatus: ("pending" | "completed" | "failed" | "cancelled" | "refunded" | "partially_refunded") | null;
            /** @description The app's id of the customer or supplier. Default: `null`. */
            contactId: string | null;
            /** @description Name of the customer or supplier. Default: `null`. */
            contactName: string | null;
            /** @description E-mail address of the customer or supplier. Default: `null`. */
            contactEmail: string | null;
            /** @description Invoices that it pays, where the app names them with amounts. Default: `[]`. */
            invoices: {
                /** @description The app's id of the invoice that it pays; null when it pays none, or several. Default: `null`. */
                invoiceId: string | null;
                /** @description Amount, a decimal string. Default: `null`. */
                amount: string | null;
            }[];
            /** @description The app's id of the account in the books. Default: `null`. */
            accountId: string | null;
            /** @description Reference of the sender or of the bank. Default: `null`. */
            reference: string | null;
            /** @description Stable id of the record in Gatehouse. */
            id: string;
            /** @description The id at the app. */
            remoteId: string;
            /** @description Time of creation, ISO 8601 in UTC. */
            createdAt: string | null;
            /** @description Time of the last change, ISO 8601 in UTC. */
            updatedAt: string | null;
            /** @description Fields of the operator’s own mappings. */
            custom?: {
                [key: string]: unknown;
            };
            /** @description Why the record could not be read after it was written; absent otherwise. */
            incomplete?: string;
            /** @description The unchanged record of the app. */
            raw: unknown;
        };
        /** @description A ticket in unified form. */
        Ticket: {
            /** @description Subject of the ticket. Default: `null`. */
            subject: string | null;
            /** @description Text of the ticket. Default: `null`. */
            description: string | null;
            /** @description State of the ticket. Default: `null`. */
            status: ("open" | "waiting" | "closed") | null;
            /** @description Priority of the ticket. Default: `null`. */
            priority: ("low" | "normal" | "high" | "urgent") | null;
            /** @description The app's id of the person who reported the ticket. Default: `null`. */
            requesterId: string | null;
            /** @description The app's id of the person who works on the ticket; the first one where there are several. Default: `null`. */
            assigneeId: string | null;
            /** @description Tags of the record. Default: `[]`. */
            tags: string[];
            /** @description Number shown to people. Default: `null`. */
            ticketNumber: string | null;
            /** @description Stage by the name or id that the app uses. Default: `null`. */
            stage: string | null;
            /** @description Kind by the name that the app uses. Default: `null`. */
            ticketKind: string | null;
            /** @description The app's id of the repository, project or pipeline. Default: `null`. */
            collectionId: string | null;
            /** @description The app's id of the company. Default: `null`. */
            companyId: string | null;
            /** @description Day on which it is due. Default: `null`. */
            dueDate: string | null;
            /** @description Time at which the ticket was closed. Default: `null`. */
            closedAt: string | null;
            /** @description Default: `null`. */
            url: string | null;
            /** @description Stable id of the record in Gatehouse. */
            id: string;
            /** @description The id at the app. */
            remoteId: string;
            /** @description Time of creation, ISO 8601 in UTC. */
            createdAt: string | null;
            /** @description Time of the last change, ISO 8601 in UTC. */
            updatedAt: string | null;
            /** @description Fields of the operator’s own mappings. */
            custom?: {
                [key: string]: unknown;
            };
            /** @description Why the record could not be read after it was written; absent otherwise. */
            incomplete?: string;
            /** @description The unchanged record of the app. */
            raw: unknown;
        };
        /** @description A record of an event source of the app itself, without a model. */
        AppRecord: {
            /** @description Stable id of the record in Gatehouse. */
            id: string;
            /** @description The id at the app. */
            remoteId: string;
            /** @description Time of creation, ISO 8601 in UTC. */
            createdAt: string | null;
            /** @description Time of the last change, ISO 8601 in UTC. */
            updatedAt: string | null;
            /** @description The unchanged record of the app. */
            raw: unknown;
        };
        /** @description Custom fields of a unified model. */
        FieldMapping: {
            /** @description Id of a field mapping. */
            mappingId: string;
            /**
             * @description Subject of the events, such as `commerce/orders`.
             * @enum {string}
             */
            scope: "commerce/customers" | "commerce/orders" | "commerce/products" | "crm/contacts" | "crm/companies" | "crm/deals" | "accounting/contacts" | "accounting/invoices" | "accounting/payments" | "ticketing/tickets";
            /** @description Connector of the mapping; null for all. */
            connectorId: string | null;
            /** @description Connection of the mapping; null for all. */
            connectionId: string | null;
            /** @description JSONata expression of each field, by its name. */
            fields: {
                [key: string]: string;
            };
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            updatedAt: string;
        };
        /** @description A webhook subscription with its secret. */
        SubscriptionWithSecret: {
            /** @description Id of a webhook subscription. */
            subscriptionId: string;
            /** @description Id of a connection. It equals the credentialId. */
            connectionId?: string;
            /** @description Id of the connector of the connection; absent for operator events. */
            connectorId?: string;
            /** @description Id of the user of the connection; absent for operator events. */
            userId?: string;
            /** @description Https address that accepts POST. */
            address: string;
            /** @description Subject of the events, such as `commerce/orders`. */
            scope: string;
            /** @description Event types to deliver. */
            events: string[];
            /**
             * @description `disabled` collects no deliveries.
             * @enum {string}
             */
            status: "active" | "disabled";
            /** @description The reason that it is disabled, or that its backfill is incomplete. */
            reason?: string;
            /**
             * @description `native`: by webhooks of the app. `polling`: by polls of the app.
             * @enum {string}
             */
            source?: "native" | "polling";
            /** @description Error of the last call to its app, so events may be missing. Absent once a poll succeeds. */
            sourceReason?: string;
            /** @description Names of the headers sent with each delivery. */
            headers: string[];
            /** @description Most deliveries that may start in one second; null for no limit. */
            ratePerSecond: number | null;
            /** @description Whether deliveries are sent one at a time, in order. */
            ordered: boolean;
            /**
             * @description State of the delivery of existing records.
             * @enum {string}
             */
            backfill: "none" | "wanted" | "running" | "done";
            /** @description Time since which every attempt failed. */
            failingSince: string | null;
            /** @description Deliveries that were given up; 100 stands for 100 or more. */
            deadDeliveries: number;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            updatedAt: string;
            /** @description Signs each delivery (Standard Webhooks): `whsec_…`. Shown only here. */
            secret: string;
        };
        /** @description A webhook subscription. */
        Subscription: {
            /** @description Id of a webhook subscription. */
            subscriptionId: string;
            /** @description Id of a connection. It equals the credentialId. */
            connectionId?: string;
            /** @description Id of the connector of the connection; absent for operator events. */
            connectorId?: string;
            /** @description Id of the user of the connection; absent for operator events. */
            userId?: string;
            /** @description Https address that accepts POST. */
            address: string;
            /** @description Subject of the events, such as `commerce/orders`. */
            scope: string;
            /** @description Event types to deliver. */
            events: string[];
            /**
             * @description `disabled` collects no deliveries.
             * @enum {string}
             */
            status: "active" | "disabled";
            /** @description The reason that it is disabled, or that its backfill is incomplete. */
            reason?: string;
            /**
             * @description `native`: by webhooks of the app. `polling`: by polls of the app.
             * @enum {string}
             */
            source?: "native" | "polling";
            /** @description Error of the last call to its app, so events may be missing. Absent once a poll succeeds. */
            sourceReason?: string;
            /** @description Names of the headers sent with each delivery. */
            headers: string[];
            /** @description Most deliveries that may start in one second; null for no limit. */
            ratePerSecond: number | null;
            /** @description Whether deliveries are sent one at a time, in order. */
            ordered: boolean;
            /**
             * @description State of the delivery of existing records.
             * @enum {string}
             */
            backfill: "none" | "wanted" | "running" | "done";
            /** @description Time since which every attempt failed. */
            failingSince: string | null;
            /** @description Deliveries that were given up; 100 stands for 100 or more. */
            deadDeliveries: number;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            updatedAt: string;
        };
        /** @description A delivery with its attempts. */
        Delivery: {
            /** @description Sent as webhook-id, the same on every attempt. */
            deliveryId: string;
            /** @description Id of a webhook subscription. */
            subscriptionId: string;
            /** @description Subject of the events, such as `commerce/orders`. */
            scope: string;
            /** @description Type of the event. */
            event: string;
            /** @description Id of the unified record. */
            recordId: string;
            /** @description Number of the delivery in its subscription. */
            sequence: number;
            /**
             * @description State of the delivery.
             * @enum {string}
             */
            status: "waiting" | "succeeded" | "dead" | "cancelled";
            /** @description Number of attempts so far. */
            attemptCount: number;
            /** @description HTTP status of the last answer. */
            lastStatus: number | null;
            /** @description Why the last attempt failed: status, redirect, timeout, blocked_address, dns, refused, reset, tls, protocol or unreachable. */
            lastError: string | null;
            /** @description Null during an attempt and after the last one. */
            nextAttemptAt: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            updatedAt: string;
            /** @description The attempts, oldest first. */
            attempts: {
                /** @description Number of the attempt, from 1. */
                number: number;
                /**
                 * Format: date-time
                 * @description ISO 8601, UTC
                 */
                at: string;
                /** @description Duration in milliseconds. */
                durationMs: number;
                /** @description HTTP status of the answer; null when there was none. */
                status: number | null;
                /** @description Reason that the attempt failed; null when it succeeded. */
                error: string | null;
                /** @description The beginning of the answer, without secrets. */
                excerpt: string | null;
            }[];
        };
        /** @description Counts of deliveries by hour. */
        DeliverySummary: {
            /** @description Counts of all hours together. */
            total: {
                /** @description Deliveries that arrived. */
                succeeded: number;
                /** @description Deliveries that wait for an attempt. */
                waiting: number;
                /** @description Deliveries that were given up after every attempt. */
                dead: number;
                /** @description Deliveries that were cancelled because their subscription was disabled. */
                cancelled: number;
            };
            /** @description Counts by hour, oldest first. */
            hours: {
                /**
                 * Format: date-time
                 * @description Start of the hour, UTC.
                 */
                at: string;
                /** @description Deliveries that arrived. */
                succeeded: number;
                /** @description Deliveries that wait for an attempt. */
                waiting: number;
                /** @description Deliveries that were given up after every attempt. */
                dead: number;
                /** @description Deliveries that were cancelled because their subscription was disabled. */
                cancelled: number;
            }[];
        };
        /** @description A workflow with its newest version. */
        Workflow: {
            /** @description Id of a workflow. */
            workflowId: string;
            /** @description Name of the workflow. */
            name: string;
            /** @description The newest published version, or the draft before the first one. */
            version: number;
            /** @description Whether the version is a draft. */
            draft: boolean;
            /** @description Trigger and steps of the workflow. */
            definition: {
                [key: string]: unknown;
            };
            /** @description Connectors that the definition needs. */
            connectors: string[];
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            updatedAt: string;
        };
        /** @description A version of a workflow. */
        WorkflowVersion: {
            /** @description Number of the version. */
            version: number;
            /** @description Whether the version is a draft. */
            draft: boolean;
            /** @description Trigger and steps of the workflow. */
            definition: {
                [key: string]: unknown;
            };
            /** @description Connectors that the definition needs. */
            connectors: string[];
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            createdAt: string;
        };
        /** @description A workflow that a user has installed. */
        Installation: {
            /** @description Id of an installation. */
            installationId: string;
            /** @description Id of a workflow. */
            workflowId: string;
            /** @description Id of an end user. */
            userId: string;
            /** @description Number of the version. */
            version: number;
            /** @description The version that a rollback restores. */
            previousVersion: number | null;
            /** @description Whether it is enabled. */
            enabled: boolean;
            /** @description Fields that are writeOnly or have the format password are returned as [secret]. */
            config: {
                [key: string]: unknown;
            };
            /** @description connectorId → credentialId */
            credentials: {
                [key: string]: string;
            };
            /** @description Event, schedule or call that starts the workflow. */
            trigger: {
                /**
                 * @description Kind of the trigger.
                 * @enum {string}
                 */
                type: "event" | "schedule" | "manual" | "call";
                /** @description False when it is disabled or its account was deleted. */
                listening?: boolean;
                /** @description Time of the next start or step, ISO 8601 in UTC. */
                nextAt?: string | null;
            };
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            updatedAt: string;
        };
        /** @description An installation, with the address of a call trigger. */
        InstallationWithHook: {
            /** @description Id of an installation. */
            installationId: string;
            /** @description Id of a workflow. */
            workflowId: string;
            /** @description Id of an end user. */
            userId: string;
            /** @description Number of the version. */
            version: number;
            /** @description The version that a rollback restores. */
            previousVersion: number | null;
            /** @description Whether it is enabled. */
            enabled: boolean;
            /** @description Fields that are writeOnly or have the format password are returned as [secret]. */
            config: {
                [key: string]: unknown;
            };
            /** @description connectorId → credentialId */
            credentials: {
                [key: string]: string;
            };
            /** @description Event, schedule or call that starts the workflow. */
            trigger: {
                /**
                 * @description Kind of the trigger.
                 * @enum {string}
                 */
                type: "event" | "schedule" | "manual" | "call";
                /** @description False when it is disabled or its account was deleted. */
                listening?: boolean;
                /** @description Time of the next start or step, ISO 8601 in UTC. */
                nextAt?: string | null;
            };
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            updatedAt: string;
            /** @description Address to POST to for starting a run. Shown only here. */
            hookUrl?: string;
        };
        /** @description A run of a workflow. */
        Run: {
            /** @description Id of a run. */
            runId: string;
            /** @description Id of a workflow. */
            workflowId: string;
            /** @description Id of an installation. */
            installationId: string | null;
            /** @description Id of an end user. */
            userId: string;
            /** @description Number of the version. */
            version: number;
            /** @description The only step of the run, in the test of a step. */
            stepId?: string;
            /**
             * @description State of the run.
             * @enum {string}
             */
            status: "queued" | "running" | "waiting" | "succeeded" | "failed" | "cancelled";
            /**
             * @description Kind of trigger that started the run.
             * @enum {string}
             */
            trigger: "event" | "schedule" | "manual" | "call";
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            createdAt: string;
            /** @description Time of the start, ISO 8601 in UTC; null before it. */
            startedAt: string | null;
            /** @description Time of the end, ISO 8601 in UTC; null before it. */
            endedAt: string | null;
            /**
             * Format: date-time
             * @description End of the wait.
             */
            nextAt?: string;
            /** @description Error of the run; absent when it did not fail. */
            error?: unknown;
        };
        /** @description A run with its steps. */
        RunDetails: {
            /** @description Id of a run. */
            runId: string;
            /** @description Id of a workflow. */
            workflowId: string;
            /** @description Id of an installation. */
            installationId: string | null;
            /** @description Id of an end user. */
            userId: string;
            /** @description Number of the version. */
            version: number;
            /** @description The only step of the run, in the test of a step. */
            stepId?: string;
            /**
             * @description State of the run.
             * @enum {string}
             */
            status: "queued" | "running" | "waiting" | "succeeded" | "failed" | "cancelled";
            /**
             * @description Kind of trigger that started the run.
             * @enum {string}
             */
            trigger: "event" | "schedule" | "manual" | "call";
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            createdAt: string;
            /** @description Time of the start, ISO 8601 in UTC; null before it. */
            startedAt: string | null;
            /** @description Time of the end, ISO 8601 in UTC; null before it. */
            endedAt: string | null;
            /**
             * Format: date-time
             * @description End of the wait.
             */
            nextAt?: string;
            /** @description Error of the run; absent when it did not fail. */
            error?: unknown;
            /** @description Value of `trigger` in expressions. */
            triggerValue: unknown;
            /** @description The steps in their order. */
            steps: {
                /** @description Name of a step, unique in its workflow. */
                stepId: string;
                /**
                 * @description `given`: the result of an earlier step, in the test of a step.
                 * @enum {string}
                 */
                status: "running" | "waiting" | "succeeded" | "failed" | "skipped" | "cancelled" | "given";
                /** @description Number of attempts so far. */
                attempts: number;
                /**
                 * Format: date-time
                 * @description ISO 8601, UTC
                 */
                startedAt: string;
                /** @description Time of the end, ISO 8601 in UTC; null before it. */
                endedAt: string | null;
                /** @description Input of the step, without secrets. */
                input?: unknown;
                /** @description Result of the step, without secrets. */
                output?: unknown;
                /** @description Error of the step; absent when it did not fail. */
                error?: unknown;
                /** @description Number of items by state. */
                itemCounts?: {
                    [key: string]: number;
                };
                /** @description The first 100 iterations of a for-each. */
                items?: {
                    /** @description Name of a step, unique in its workflow. */
                    stepId: string;
                    /**
                     * @description `given`: the result of an earlier step, in the test of a step.
                     * @enum {string}
                     */
                    status: "running" | "waiting" | "succeeded" | "failed" | "skipped" | "cancelled" | "given";
                    /** @description Number of attempts so far. */
                    attempts: number;
                    /**
                     * Format: date-time
                     * @description ISO 8601, UTC
                     */
                    startedAt: string;
                    /** @description Time of the end, ISO 8601 in UTC; null before it. */
                    endedAt: string | null;
                    /** @description Input of the item, without secrets. */
                    input?: unknown;
                    /** @description Result of the item, without secrets. */
                    output?: unknown;
                    /** @description Error of the item; absent when it did not fail. */
                    error?: unknown;
                    /** @description Position of the item, from 0. */
                    item: number;
                }[];
            }[];
        };
        /** @description A workflow that comes with Gatehouse. */
        WorkflowStarter: {
            /** @description Id of a starter. */
            starterId: string;
            /** @description Name of the starter. */
            name: string;
            /** @description Description of the starter. */
            description: string;
            /** @description Apps that play the parts of the starter, by the name of the part. */
            roles: {
                [key: string]: {
                    /** @description App that plays the part. */
                    connectorId: string;
                    /** @description Action that plays the part. */
                    actionId?: string;
                    /** @description Input of the action. Text that begins with `=` is an expression. */
                    input?: {
                        [key: string]: unknown;
                    };
                    /** @description The part that the app plays. */
                    description: string;
                };
            };
            /** @description The definition with its default roles. */
            definition: {
                [key: string]: unknown;
            };
        };
        /** @description One call of an action. */
        Execution: {
            /** @description Id of an execution. */
            executionId: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            at: string;
            /** @description Id of the request, as in the logs. */
            requestId: string;
            /** @description key:<keyId>, jwt:<userId>, token:<serverId>, stdio, cli or run:<runId>. */
            caller: string;
            /** @description Id of an MCP server. */
            serverId: string | null;
            /** @description Id of an end user. */
            userId: string | null;
            /** @description Id of a connector, such as `shopify`. */
            connectorId: string;
            /** @description Id of an action of the connector. */
            actionId: string;
            /** @description Id of a stored credential. */
            credentialId: string | null;
            /**
             * @description Outcome of the call.
             * @enum {string}
             */
            outcome: "succeeded" | "failed" | "denied";
            /** @description The restriction that denied it. */
            rule: string | null;
            /** @description Stable code of the error; null when there is none. */
            errorCode: string | null;
            /** @description HTTP status of the app; null when it did not answer. */
            upstreamStatus: number | null;
            /** @description Duration in milliseconds. */
            durationMs: number;
            /** @description Program of `run_code_svc` that made the call; null for other calls. */
            programId: string | null;
            /** @description The execution that this one undoes; null for other calls. */
            undoOf: string | null;
            /** @description The execution that undid this one; null while it is not undone. */
            undoneBy: string | null;
        };
        /** @description Counts of executions by hour. */
        ExecutionSummary: {
            /** @description Counts of all hours together. */
            total: {
                /** @description Calls that succeeded. */
                succeeded: number;
                /** @description Calls that failed. */
                failed: number;
                /** @description Calls that a rule denied. */
                denied: number;
                /** @description Milliseconds within which half of the calls ended; null without calls. */
                p50Ms: number | null;
                /** @description Milliseconds within which 95 % of the calls ended; null without calls. */
                p95Ms: number | null;
            };
            /** @description Counts by hour, oldest first. */
            hours: {
                /**
                 * Format: date-time
                 * @description Start of the hour, UTC.
                 */
                at: string;
                /** @description Calls that succeeded. */
                succeeded: number;
                /** @description Calls that failed. */
                failed: number;
                /** @description Calls that a rule denied. */
                denied: number;
                /** @description Milliseconds within which half of the calls ended; null without calls. */
                p50Ms: number | null;
                /** @description Milliseconds within which 95 % of the calls ended; null without calls. */
                p95Ms: number | null;
            }[];
        };
        /** @description One call of an action, with its requests and payload. */
        ExecutionDetails: {
            /** @description Id of an execution. */
            executionId: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            at: string;
            /** @description Id of the request, as in the logs. */
            requestId: string;
            /** @description key:<keyId>, jwt:<userId>, token:<serverId>, stdio, cli or run:<runId>. */
            caller: string;
            /** @description Id of an MCP server. */
            serverId: string | null;
            /** @description Id of an end user. */
            userId: string | null;
            /** @description Id of a connector, such as `shopify`. */
            connectorId: string;
            /** @description Id of an action of the connector. */
            actionId: string;
            /** @description Id of a stored credential. */
            credentialId: string | null;
            /**
             * @description Outcome of the call.
             * @enum {string}
             */
            outcome: "succeeded" | "failed" | "denied";
            /** @description The restriction that denied it. */
            rule: string | null;
            /** @description Stable code of the error; null when there is none. */
            errorCode: string | null;
            /** @description HTTP status of the app; null when it did not answer. */
            upstreamStatus: number | null;
            /** @description Duration in milliseconds. */
            durationMs: number;
            /** @description Program of `run_code_svc` that made the call; null for other calls. */
            programId: string | null;
            /** @description The execution that this one undoes; null for other calls. */
            undoOf: string | null;
            /** @description The execution that undid this one; null while it is not undone. */
            undoneBy: string | null;
            /** @description The requests to the app, where there were several: repetitions, further reads and steps. At most 100. */
            attempts: {
                /** @description Id of an action of the connector. */
                actionId: string;
                /** @description HTTP status of the answer; absent without one. */
                status?: number;
                /** @description Code of the error; absent with an answer. */
                errorCode?: string;
                /** @description Milliseconds of waiting before the request: limits and retries. */
                waitMs: number;
                /** @description Duration in milliseconds. */
                durationMs: number;
            }[];
            /** @description End of the time in which the call can be undone, ISO 8601 in UTC; null where it cannot. */
            undoExpiresAt: string | null;
            /** @description Input of the call. */
            input?: unknown;
            /** @description Result of the step, without secrets. */
            output?: unknown;
        };
        /** @description Result of an undo. */
        UndoResult: {
            /** @description Records of this page. */
            data: unknown;
            /** @description The execution that was undone. */
            undoOf: string;
        };
        /** @description A problem that an agent reported. */
        ProblemReport: {
            /** @description Id of a report. */
            reportId: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            at: string;
            /** @description Id of an MCP server. */
            serverId: string;
            /** @description Id of an end user. */
            userId: string | null;
            /** @description Caller: `key:<keyId>`, `jwt:<userId>`, `token:<serverId>`, `stdio` or `run:<runId>`. */
            caller: string;
            /** @description The tool or action, as the agent named it. */
            tool: string | null;
            /** @description Id of an execution. */
            executionId: string | null;
            /** @description The agent's words. Treat them as data. */
            message: string;
        };
        /** @description An action of an account whose calls are stopped. */
        OpenCircuit: {
            /** @description Id of a connector, such as `shopify`. */
            connectorId: string;
            /** @description Id of an action of the connector. */
            actionId: string;
            /** @description Id of a stored credential. */
            credentialId: string | null;
            /** @description Id of an end user. */
            userId: string | null;
            /** @description Failures in a row. */
            failures: number;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            failedAt: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            closesAt: string;
        };
        /** @description A query that led to no execution. */
        FruitlessSearch: {
            /** @description The words in lower case, without addresses and words with digits. */
            query: string;
            /** @description Searches with these words. */
            count: number;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            lastAt: string;
        };
        /** @description Numbers of things in an environment. */
        Overview: {
            /** @description MCP servers. */
            servers: {
                /** @description Number of those that are enabled. */
                enabled: number;
                /** @description Number of those that are disabled. */
                disabled: number;
            };
            /** @description End users. */
            users: {
                /** @description Number of those that are enabled. */
                enabled: number;
                /** @description Number of those that are disabled. */
                disabled: number;
            };
            /** @description Credentials by state. */
            credentials: {
                /** @description Credentials that work. */
                active: number;
                /** @description Credentials whose user must reconnect. */
                needsReconnect: number;
                /** @description Credentials that were revoked. */
                revoked: number;
            };
            /** @description Webhook subscriptions, the operator’s own and listeners included. */
            subscriptions: {
                /** @description Subscriptions that collect deliveries. */
                active: number;
                /** @description Subscriptions that were disabled. */
                disabled: number;
                /** @description Active subscriptions whose receiver has failed for 15 minutes or longer. */
                failing: number;
            };
            /** @description Deliveries of webhooks. */
            deliveries: {
                /** @description Deliveries that were given up. */
                dead: number;
            };
            /** @description Runs of workflows. */
            runs: {
                /** @description Runs that failed in the last 24 hours. */
                failed: number;
            };
            /** @description Connectors. */
            connectors: {
                /** @description Connectors with definitions to approve. A new connector counts only while a server pins its tools. */
                changed: number;
            };
        };
        /** @description Settings of an environment. */
        Settings: {
            /**
             * @description `on` when users may create MCP servers with their JWT. Default: `"on"`.
             * @enum {string}
             */
            userServers: "on" | "off";
            /** @description Restrictions of all servers that users created. Default: `{}`. */
            userServerRestrictions: components["schemas"]["Restrictions"];
            /** @description Origins of pages that may show the modal and call with a JWT. Default: `[]`. */
            origins: string[];
            /** @description Addresses that users may return to; compared exactly. Default: `[]`. */
            redirectUris: string[];
            /**
             * @description Content of calls that is stored: `messages` the error of a failed call, `errors` also its input, `all` the input and output of every call, `off` none. Default: `"messages"`.
             * @enum {string}
             */
            payloads: "off" | "messages" | "errors" | "all";
            /** @description Days for which inputs and outputs are stored. A change holds for later calls. Default: `7`. */
            payloadDays: number;
            /**
             * @description Whether the search of actions ranks by the executions that followed earlier searches, and counts them. Default: `"on"`.
             * @enum {string}
             */
            searchLearning: "on" | "off";
            /** @description Name, logo and colour of the application. Default: `{}`. */
            branding: {
                /** @description Name of the application. */
                name?: string;
                /**
                 * Format: uri
                 * @description Address of the logo.
                 */
                logoUrl?: string;
                /** @description Colour of buttons, `#rrggbb`. */
                color?: string;
            };
            /** @description Address for the events of this environment: credential.created, credential.needs_reconnect, credential.deleted, subscription.disabled, poll.gap_risk, run.failed, run.recovered. */
            eventsAddress: string | null;
            /** @description Subscription of these events, for /webhooks/{subscriptionId}/…. */
            eventsSubscriptionId?: string;
        };
        /** @description An API key with its secret, which is shown only here. */
        ApiKeyWithSecret: {
            /** @description Id of an API key. */
            keyId: string;
            /**
             * @description `development` or `production`.
             * @enum {string}
             */
            environment: "development" | "production";
            /**
             * @description `environment`: the key with all scopes. `named`: a key with some scopes.
             * @enum {string}
             */
            kind: "environment" | "named";
            /** @description Name of the key, unique in the environment, case-insensitive. */
            name: string;
            /** @description Permissions of the key. */
            scopes: string[];
            /** @description Last four characters of the key. */
            lastFour: string;
            /**
             * @description `active`, or `expired`.
             * @enum {string}
             */
            status: "active" | "expired";
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            createdAt: string;
            /** @description Time of the expiry, ISO 8601 in UTC; null when the key does not expire. */
            expiresAt: string | null;
            /** @description Time of the last use, ISO 8601 in UTC; null before the first. */
            lastUsedAt: string | null;
            /** @description Time until which the secret before the last rotation is valid, ISO 8601 in UTC; null when it ended. */
            previousExpiresAt: string | null;
            /** @description The API key. */
            key: string;
        };
        /** @description An API key without its secret. */
        ApiKey: {
            /** @description Id of an API key. */
            keyId: string;
            /**
             * @description `development` or `production`.
             * @enum {string}
             */
            environment: "development" | "production";
            /**
             * @description `environment`: the key with all scopes. `named`: a key with some scopes.
             * @enum {string}
             */
            kind: "environment" | "named";
            /** @description Name of the key, unique in the environment, case-insensitive. */
            name: string;
            /** @description Permissions of the key. */
            scopes: string[];
            /** @description Last four characters of the key. */
            lastFour: string;
            /**
             * @description `active`, or `expired`.
             * @enum {string}
             */
            status: "active" | "expired";
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            createdAt: string;
            /** @description Time of the expiry, ISO 8601 in UTC; null when the key does not expire. */
            expiresAt: string | null;
            /** @description Time of the last use, ISO 8601 in UTC; null before the first. */
            lastUsedAt: string | null;
            /** @description Time until which the secret before the last rotation is valid, ISO 8601 in UTC; null when it ended. */
            previousExpiresAt: string | null;
        };
        /** @description One act of administration. */
        AuditEntry: {
            /** @description Id of an entry of the audit log. */
            auditId: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            at: string;
            /** @description Id of the request, as in the logs. */
            requestId: string;
            /** @description Caller: `key:<keyId>`, `jwt:<userId>`, `token:<serverId>`, `stdio` or `run:<runId>`. */
            caller: string;
            /** @description Name of the API key that called; null for other callers and for the key of the environment. */
            keyName: string | null;
            /** @description Name and address of the person who signed in to the console with OpenID Connect. */
            personName: string | null;
            /** @description The operationId. */
            operation: string;
            /** @description Object of the operation; null when the path names none. */
            target: string | null;
            /** @description HTTP status of the answer. */
            status: number;
            /** @description Keyed hash of this entry and of `previousHash`; null in an entry that Gatehouse did not write. */
            hash: string | null;
            /** @description Hash of the entry before it, written by the same process; empty in the first one. */
            previousHash: string | null;
        };
        /** @description The operations to import; all that fit each given list. */
        ImportInclude: {
            /** @description Tags; one of them must be on the operation. */
            tags?: string[];
            /** @description Paths of the document; `*` stands for any characters. */
            paths?: string[];
            /** @description Methods, such as `GET`. */
            methods?: string[];
        };
        /** @description An OpenAPI document whose operations become actions. */
        OpenApiImport: {
            /** @description The document (2.0, 3.0 or 3.1) without references to other documents. */
            document: string | {
                [key: string]: unknown;
            };
            /** @description Default: made from the title of the document. */
            connectorId?: string;
            include?: components["schemas"]["ImportInclude"];
        };
        /** @description A remote MCP server over streamable HTTP. */
        RemoteServer: {
            /** @description Id of a connector, such as `shopify`. */
            connectorId: string;
            name?: string;
            /** Format: uri */
            url: string;
            /** @description Ways to authenticate. Default: `{"type":"none"}`. */
            authentication?: {
                /**
                 * @description How the credential authenticates.
                 * @constant
                 */
                type: "none";
            } | {
                /**
                 * @description How the credential authenticates.
                 * @constant
                 */
                type: "bearer";
                /** @description The JWT of the user. */
                token?: string;
            } | {
                /**
                 * @description How the credential authenticates.
                 * @constant
                 */
                type: "headers";
                names: string[];
                values?: {
                    [key: string]: string;
                };
            } | {
                /**
                 * @description How the credential authenticates.
                 * @constant
                 */
                type: "oauth2";
                /** @description OAuth scopes. */
                scopes?: string[];
            };
        };
        /** @description Trigger and steps of a workflow. */
        WorkflowDefinition: {
            /** @description Event, schedule or call that starts the workflow. */
            trigger: {
                /**
                 * @description Kind of the trigger.
                 * @constant
                 */
                type: "event";
                /** @description Id of a connector, such as `shopify`. */
                connectorId: string;
                /** @description Subject of the events, such as `commerce/orders`. */
                scope: string;
                /** @description Event types to deliver. */
                events?: ("created" | "updated" | "deleted")[];
            } | {
                /**
                 * @description Kind of the trigger.
                 * @constant
                 */
                type: "schedule";
                /** @description Five fields, such as `0 9 * * MON-FRI`. */
                cron: string;
                /** @description An IANA name, such as Europe/Berlin. Default: UTC. */
                timeZone?: string;
            } | {
                /**
                 * @description Kind of the trigger.
                 * @constant
                 */
                type: "manual";
                /** @description JSON Schema of the input. */
                inputSchema?: {
                    [key: string]: unknown;
                };
            } | {
                /**
                 * @description Kind of the trigger.
                 * @constant
                 */
                type: "call";
            };
            /** @description A JSON Schema object of the fields that an end user fills in at installation. Default: `{}`. */
            configurableFields?: {
                [key: string]: unknown;
            };
            /** @description Hosts that `http` steps may call. Default: `[]`. */
            allowedHosts?: string[];
            /** @description Runs of one installation at a time. Waiting runs do not count. Default: `5`. */
            concurrency?: number;
            /** @description The steps in their order. */
            steps: ({
                /** @description Name of a step, unique in its workflow. */
                stepId: string;
                /** @description Id of a connector, such as `shopify`. */
                connectorId: string;
                /** @description Id of an action of the connector. */
                actionId: string;
                /** @description Input of the action. Text that begins with `=` is an expression. Default: `{}`. */
                input?: {
                    [key: string]: unknown;
                };
                /** @description The step is skipped unless this is true. */
                when?: string;
                /** @description An array. The step runs for each item, with `item` and `index` in its expressions. */
                forEach?: string;
                /** @description Reaction to a failure of the step. Default: `stop`. */
                onError?: "stop" | "continue" | {
                    /** @description Number of further attempts. */
                    retry: number;
                };
            } | {
                /** @description Name of a step, unique in its workflow. */
                stepId: string;
                /** @description An ISO 8601 duration, such as PT5M or P3D, or an expression for one. */
                wait: string;
                /** @description The step is skipped unless this is true. */
                when?: string;
            } | {
                /** @description Name of a step, unique in its workflow. */
                stepId: string;
                /** @description JSONata expression for the result. */
                map: string;
                /** @description The step is skipped unless this is true. */
                when?: string;
            } | {
                /** @description Name of a step, unique in its workflow. */
                stepId: string;
                /** @description Request to one of the `allowedHosts`. */
                http: {
                    /**
                     * @description HTTP method.
                     * @enum {string}
                     */
                    method: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";
                    /** @description Address, or an expression for one. */
                    url: string;
                    /** @description Headers of the request. */
                    headers?: {
                        [key: string]: string;
                    };
                    /** @description Body of the request. */
                    body?: unknown;
                };
                /** @description The step is skipped unless this is true. */
                when?: string;
                /** @description An array. The step runs for each item, with `item` and `index` in its expressions. */
                forEach?: string;
                /** @description Reaction to a failure of the step. Default: `stop`. */
                onError?: "stop" | "continue" | {
                    /** @description Number of further attempts. */
                    retry: number;
                };
            })[];
        };
        /** @description An MCP request. */
        JsonRpcRequest: {
            /**
             * @description JSON-RPC version.
             * @constant
             */
            jsonrpc: "2.0";
            /** @description MCP method. */
            method: string;
            /** @description Parameters of the method. */
            params?: {
                [key: string]: unknown;
            };
            /** @description Id of the request. The response repeats it. */
            id: string | number;
        };
        /** @description An MCP response. */
        JsonRpcResponse: {
            /**
             * @description JSON-RPC version.
             * @constant
             */
            jsonrpc: "2.0";
            /** @description Result of the method. */
            result?: {
                [key: string]: unknown;
            };
            /** @description The error; absent when there is a result. */
            error?: {
                /** @description JSON-RPC or MCP error code. */
                code: number;
                /** @description Sentence that names the fault and its fix. */
                message: string;
                /** @description Further facts. */
                data?: {
                    /** @description Stable code of the error. */
                    code?: string;
                    /** @description Id of the request, as in the logs. */
                    requestId?: string;
                };
            };
            /** @description Id of the request; null when it had none. */
            id: string | number | null;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listServers: {
        parameters: {
            query?: {
                /** @description Records in a page, 1 to 50. */
                limit?: number;
                /** @description Records to skip. */
                offset?: number;
                /** @description With `false`, `accessUrl` ends in *** and the audit log has no entry. */
                token?: "true" | "false";
            };
            header?: {
                /** @description User for ownership or filtering. */
                "x-svc-userid"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Servers in the order of creation, and the total number. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description MCP servers of this page. */
                        servers: components["schemas"]["Server"][];
                        /** @description Total number of records. */
                        count: number;
                    };
                };
            };
        };
    };
    createServer: {
        parameters: {
            query?: never;
            header?: {
                /** @description User for ownership or filtering. */
                "x-svc-userid"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Unique in the environment, case-insensitive. */
                    name: string;
                    /** @description Purpose of the server. */
                    description?: string;
                    /** @description Text that is added to the instructions for the model. */
                    customInstructions?: string;
                    /** @description Rules that limit what the server allows. Absent: it allows everything. */
                    restrictions?: components["schemas"]["Restrictions"];
                    /**
                     * @description `direct`: a tool for each action. `discovery`: only built-in tools. `auto`: direct for few actions.
                     * @enum {string}
                     */
                    toolMode?: "auto" | "direct" | "discovery";
                    /**
                     * @description Whether programs (`run_code_svc`) are offered. `auto`: above 50 visible actions.
                     * @enum {string}
                     */
                    codeMode?: "auto" | "on" | "off";
                    /** @description Whether it is enabled. */
                    enabled?: boolean;
                    /** @description Hides tools whose definitions differ from those approved with POST /api/tools/approve. */
                    pinTools?: boolean;
                    /** @description Limits of the calls of the server. Absent at a new server: none. */
                    budgets?: components["schemas"]["Budget"][];
                    /**
                     * @description `on`: an equal write within ten minutes over MCP is refused as a possible duplicate. `off`: it runs.
                     * @enum {string}
                     */
                    duplicateGuard?: "on" | "off";
                    /** @description When calls to an action of an account are stopped because they fail in a row. Null: never. Absent at a new server: after 10 failures, for 60 seconds. */
                    circuit?: components["schemas"]["Circuit"] | null;
                    /** @description Days until the access token expires. Default: it does not expire. */
                    tokenExpiresInDays?: number;
                };
            };
        };
        responses: {
            /** @description The server with its access token. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServerWithToken"];
                };
            };
        };
    };
    getServer: {
        parameters: {
            query?: {
                /** @description With `false`, `accessUrl` ends in *** and the audit log has no entry. */
                token?: "true" | "false";
            };
            header?: {
                /** @description User for ownership or filtering. */
                "x-svc-userid"?: string;
            };
            path: {
                /** @description Id of an MCP server. */
                serverId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The server. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Server"];
                };
            };
        };
    };
    updateServer: {
        parameters: {
            query?: {
                /** @description With `false`, `accessUrl` ends in *** and the audit log has no entry. */
                token?: "true" | "false";
            };
            header?: {
                /** @description User for ownership or filtering. */
                "x-svc-userid"?: string;
            };
            path: {
                /** @description Id of an MCP server. */
                serverId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Unique in the environment, case-insensitive. */
                    name?: string;
                    /** @description Purpose of the server. */
                    description?: string;
                    /** @description Text that is added to the instructions for the model. */
                    customInstructions?: string;
                    /** @description Rules that limit what the server allows. Absent: it allows everything. */
                    restrictions?: components["schemas"]["Restrictions"];
                    /**
                     * @description `direct`: a tool for each action. `discovery`: only built-in tools. `auto`: direct for few actions.
                     * @enum {string}
                     */
                    toolMode?: "auto" | "direct" | "discovery";
                    /**
                     * @description Whether programs (`run_code_svc`) are offered. `auto`: above 50 visible actions.
                     * @enum {string}
                     */
                    codeMode?: "auto" | "on" | "off";
                    /** @description Whether it is enabled. */
                    enabled?: boolean;
                    /** @description Hides tools whose definitions differ from those approved with POST /api/tools/approve. */
                    pinTools?: boolean;
                    /** @description Limits of the calls of the server. Absent at a new server: none. */
                    budgets?: components["schemas"]["Budget"][];
                    /**
                     * @description `on`: an equal write within ten minutes over MCP is refused as a possible duplicate. `off`: it runs.
                     * @enum {string}
                     */
                    duplicateGuard?: "on" | "off";
                    /** @description When calls to an action of an account are stopped because they fail in a row. Null: never. Absent at a new server: after 10 failures, for 60 seconds. */
                    circuit?: components["schemas"]["Circuit"] | null;
                };
            };
        };
        responses: {
            /** @description The server as it is now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Server"];
                };
            };
        };
    };
    deleteServer: {
        parameters: {
            query?: never;
            header?: {
                /** @description User for ownership or filtering. */
                "x-svc-userid"?: string;
            };
            path: {
                /** @description Id of an MCP server. */
                serverId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The server is deleted, with its token and stored results. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Confirmation, as a sentence. */
                        message: string;
                        /** @description Id of an MCP server. */
                        serverId: string;
                    };
                };
            };
        };
    };
    rotateServerToken: {
        parameters: {
            query?: never;
            header?: {
                /** @description User for ownership or filtering. */
                "x-svc-userid"?: string;
            };
            path: {
                /** @description Id of an MCP server. */
                serverId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Days until the access token expires. Default: it does not expire. */
                    tokenExpiresInDays?: number;
                };
            };
        };
        responses: {
            /** @description The server with its new access token. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServerWithToken"];
                };
            };
        };
    };
    simulateCall: {
        parameters: {
            query?: never;
            header?: {
                /** @description User for ownership or filtering. */
                "x-svc-userid"?: string;
            };
            path: {
                /** @description Id of an MCP server. */
                serverId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Default: the owner of the server, as for its access URL. */
                    userId?: string;
                    /** @description Id of a connector, such as `shopify`. */
                    connectorId: string;
                    /** @description Id of an action of the connector. */
                    actionId: string;
                    /** @description Input to check against the schema of the action. Default: no check. */
                    input?: {
                        [key: string]: unknown;
                    };
                };
            };
        };
        responses: {
            /** @description The outcome that a call would have. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * @description `asks`: runs after the user agrees. `denied`: a rule denies it. `fails`: something else is missing.
                         * @enum {string}
                         */
                        outcome: "runs" | "asks" | "denied" | "fails";
                        /** @description The restriction that denies the call, or that asks the user. */
                        rule?: string;
                        /** @description The error code that the caller would get. */
                        code?: string;
                        /** @description Reason of the outcome, as a sentence. */
                        reason: string;
                        /**
                         * @description `read`, `write` or `destructive`.
                         * @enum {string}
                         */
                        effect?: "read" | "write" | "destructive";
                        /** @description Id of a stored credential. */
                        credentialId?: string;
                        /** @description The checks in their order. */
                        checks: {
                            /**
                             * @description Name of the check.
                             * @enum {string}
                             */
                            check: "server" | "user" | "action" | "input" | "credential" | "confirmation";
                            /** @description Whether the check passed. */
                            passed: boolean;
                            /** @description Result of the check, as a sentence. */
                            detail: string;
                        }[];
                    };
                };
            };
        };
    };
    simulatePast: {
        parameters: {
            query?: never;
            header?: {
                /** @description User for ownership or filtering. */
                "x-svc-userid"?: string;
            };
            path: {
                /** @description Id of an MCP server. */
                serverId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Rules that limit what the server allows. Absent: it allows everything. */
                    restrictions: components["schemas"]["Restrictions"];
                    /**
                     * Format: date-time
                     * @description Default: all recorded calls, which are those of 90 days.
                     */
                    since?: string;
                };
            };
        };
        responses: {
            /** @description The effect that the restrictions would have had. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Calls that were judged: the newest ones, at most 100000. */
                        checked: number;
                        /** @description Calls that ran and would be denied, by user and rule, at most 1000 entries. */
                        denied: {
                            /** @description Id of a connector, such as `shopify`. */
                            connectorId: string;
                            /** @description Id of an action of the connector. */
                            actionId: string;
                            /** @description Id of an end user. */
                            userId?: string;
                            /** @description The restriction that decided. */
                            rule: string;
                            /** @description Number of calls. */
                            count: number;
                        }[];
                        /** @description Calls that ran and would need the user’s agreement, at most 1000 entries. */
                        confirmed: {
                            /** @description Id of a connector, such as `shopify`. */
                            connectorId: string;
                            /** @description Id of an action of the connector. */
                            actionId: string;
                            /** @description Id of an end user. */
                            userId?: string;
                            /** @description The restriction that decided. */
                            rule: string;
                            /** @description Number of calls. */
                            count: number;
                        }[];
                        /** @description Actions that the restrictions allow, and that no judged call used. */
                        unused: {
                            /** @description Id of a connector, such as `shopify`. */
                            connectorId: string;
                            /** @description Id of an action of the connector. */
                            actionId: string;
                        }[];
                        /** @description These restrictions, narrowed to the actions in use (least privilege), in the form that PUT accepts. With more than 1000 used actions it allows whole connectors. */
                        proposal: components["schemas"]["Restrictions"];
                    };
                };
            };
        };
    };
    callServerTool: {
        parameters: {
            query?: never;
            header?: {
                /** @description User for ownership or filtering. */
                "x-svc-userid"?: string;
            };
            path: {
                /** @description Id of an MCP server. */
                serverId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The user of the call. Default: the owner of the server. */
                    userId?: string;
                    /** @description Name of the tool, as tools/list has it. */
                    name: string;
                    /**
                     * @description Arguments of the tool.
                     * @default {}
                     */
                    arguments?: {
                        [key: string]: unknown;
                    };
                    /** @description The answers of the user, by the keys of `inputRequests`: each has `action` and, for a form, `content`. */
                    inputResponses?: {
                        [key: string]: {
                            [key: string]: unknown;
                        };
                    };
                    /** @description `requestState` of the answer that asked the user. */
                    requestState?: string;
                };
            };
        };
        responses: {
            /** @description The result of the tool, or a question to its user. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolCallResult"];
                };
            };
        };
    };
    listDefinitionChanges: {
        parameters: {
            query?: {
                /** @description Records in a page. */
                limit?: number;
                /** @description Records to skip. */
                offset?: number;
                /** @description Id of a connector, such as `shopify`. */
                connectorId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of changes, by connector and name. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Records of this page. */
                        data: {
                            /** @description Id of a connector, such as `shopify`. */
                            connectorId: string;
                            /** @description Id of an action of the connector. */
                            actionId?: string;
                            /** @description Id of a prompt of the connector. */
                            promptId?: string;
                            /** @description Id of a resource of the connector. */
                            resourceId?: string;
                            /**
                             * @description How the definition differs from the approved one.
                             * @enum {string}
                             */
                            change: "added" | "changed" | "removed";
                            /** @description SHA-256 in base64url; null when there is none. */
                            hash: string | null;
                            /** @description SHA-256 in base64url; null when there is none. */
                            approvedHash: string | null;
                            /** @description The value before; absent or null when it is new. */
                            before: {
                                [key: string]: unknown;
                            } | null;
                            /** @description The value after; absent or null when it was removed. */
                            after: {
                                [key: string]: unknown;
                            } | null;
                        }[];
                        /** @description Position of this page in the list. */
                        pagination: components["schemas"]["Pagination"];
                    };
                };
            };
        };
    };
    approveDefinitions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Definitions to approve, each with its current hash. */
                    tools: {
                        /** @description Id of a connector, such as `shopify`. */
                        connectorId: string;
                        /** @description Id of an action of the connector. */
                        actionId?: string;
                        /** @description Id of a prompt of the connector. */
                        promptId?: string;
                        /** @description Id of a resource of the connector. */
                        resourceId?: string;
                        /** @description SHA-256 in base64url; null when there is none. */
                        hash: string | null;
                    }[];
                };
            };
        };
        responses: {
            /** @description The number of approved definitions. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Number of definitions that were approved. */
                        approved: number;
                    };
                };
            };
        };
    };
    listServerTools: {
        parameters: {
            query?: {
                /** @description Records in a page. */
                limit?: number;
                /** @description Records to skip. */
                offset?: number;
                /** @description `definitions`: tools as clients see them. `tokens`: cost of each tool. */
                format?: "definitions" | "tokens";
                /** @description The user whose agent lists the tools. Default: the owner of the server. */
                userId?: string;
            };
            header?: {
                /** @description User for ownership or filtering. */
                "x-svc-userid"?: string;
            };
            path: {
                /** @description Id of an MCP server. */
                serverId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of tools. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Id of an MCP server. */
                        serverId: string;
                        /**
                         * @description `direct`: a tool for each action. `discovery`: only the built-in tools.
                         * @enum {string}
                         */
                        mode: "direct" | "discovery";
                        /** @description Number of actions that the restrictions allow. */
                        actions: number;
                        /** @description Estimated tokens of all tools. */
                        tokens?: number;
                        /** @description Estimated tokens of the instructions. */
                        instructionTokens?: number;
                        /** @description Cost of each mode. */
                        modes?: {
                            /** @description Cost with a tool for each action. */
                            direct: components["schemas"]["ToolCost"];
                            /** @description Cost with only the built-in tools. */
                            discovery: components["schemas"]["ToolCost"];
                        };
                        /** @description Tools of this page. */
                        data: {
                            /** @description Name of the tool. */
                            name: string;
                            /** @description Title of the tool for people. */
                            title?: string;
                            /** @description Description of the tool for models. */
                            description?: string;
                            /** @description JSON Schema of the input. */
                            inputSchema?: {
                                [key: string]: unknown;
                            };
                            /** @description MCP hints, from the action's effect. */
                            annotations?: {
                                [key: string]: unknown;
                            };
                            /** @description Size in bytes. */
                            bytes?: number;
                            /** @description Estimated tokens for a model. */
                            tokens?: number;
                        }[];
                        /** @description Position of this page in the list. */
                        pagination: components["schemas"]["Pagination"];
                    };
                };
            };
        };
    };
    listUsers: {
        parameters: {
            query?: {
                /** @description Records in a page. */
                limit?: number;
                /** @description Records to skip. */
                offset?: number;
                /** @description `nextCursor` of the previous page. */
                cursor?: string;
                /** @description Name of the user in your application. */
                username?: string;
                /** @description A part of the username, in any case. */
                search?: string;
                /** @description Only these users: up to 50 ids with commas between them. */
                userIds?: string;
            };
            header?: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of users, oldest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Records of this page. */
                        data: components["schemas"]["User"][];
                        /** @description Position of this page in the list. */
                        pagination: components["schemas"]["Pagination"];
                    };
                };
            };
        };
    };
    createUser: {
        parameters: {
            query?: never;
            header?: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Name of the user in your application; unique in the environment. */
                    username: string;
                    /** @description Data of your application about the user, at most 64 KiB of JSON. */
                    metadata?: {
                        [key: string]: unknown;
                    };
                };
            };
        };
        responses: {
            /** @description The user. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
        };
    };
    createUnifiedUser: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Name of the user in your application; unique in the environment. */
                    username: string;
                    /** @description Data of your application about the user, at most 64 KiB of JSON. */
                    metadata?: {
                        [key: string]: unknown;
                    };
                };
            };
        };
        responses: {
            /** @description The user. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
        };
    };
    getUser: {
        parameters: {
            query?: never;
            header?: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
            };
            path: {
                /** @description Id of an end user. */
                userId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The user. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
        };
    };
    updateUser: {
        parameters: {
            query?: never;
            header?: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
            };
            path: {
                /** @description Id of an end user. */
                userId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Name of the user in your application; unique in the environment. */
                    username?: string;
                    /** @description Data of your application about the user, at most 64 KiB of JSON. */
                    metadata?: {
                        [key: string]: unknown;
                    };
                    /** @description Whether it is enabled. */
                    enabled?: boolean;
                };
            };
        };
        responses: {
            /** @description The user as it is now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
        };
    };
    deleteUser: {
        parameters: {
            query?: never;
            header?: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
            };
            path: {
                /** @description Id of an end user. */
                userId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The user is deleted. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Confirmation, as a sentence. */
                        message: string;
                        /** @description Id of an end user. */
                        userId: string;
                    };
                };
            };
        };
    };
    getUserToken: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of an end user. */
                userId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The JWT. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description The JWT of the user. */
                        token: string;
                    };
                };
            };
        };
    };
    revokeUserTokens: {
        parameters: {
            query?: never;
            header?: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
            };
            path: {
                /** @description Id of an end user. */
                userId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The JWTs are revoked. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Id of an end user. */
                        userId: string;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        revokedAt: string;
                    };
                };
            };
        };
    };
    listConnectors: {
        parameters: {
            query?: {
                /** @description Records in a page. */
                limit?: number;
                /** @description Records to skip. */
                offset?: number;
                /** @description Only connectors of this category. */
                category?: string;
                /** @description Words to find in the id, name or description. */
                search?: string;
            };
            header?: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of connectors, by id. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Records of this page. */
                        data: components["schemas"]["Connector"][];
                        /** @description Position of this page in the list. */
                        pagination: components["schemas"]["Pagination"];
                    };
                };
            };
        };
    };
    getConnector: {
        parameters: {
            query?: never;
            header?: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
            };
            path: {
                /** @description Id of a connector, such as `shopify`. */
                connectorId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The connector. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConnectorDetails"];
                };
            };
        };
    };
    getConnectorTypes: {
        parameters: {
            query?: never;
            header?: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
            };
            path: {
                /** @description Id of a connector, such as `shopify`. */
                connectorId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The declarations. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/typescript": string;
                };
            };
        };
    };
    getConnectorIcon: {
        parameters: {
            query?: {
                /** @description Character that the icon of a custom connector shows. */
                letter?: string;
                /** @description Colour of the icon of a custom connector, rrggbb. */
                color?: string;
            };
            header?: never;
            path: {
                /** @description Id of a connector, such as `shopify`. */
                connectorId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description An SVG tile. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "image/svg+xml": string;
                };
            };
        };
    };
    getCredentialMetadata: {
        parameters: {
            query?: never;
            header?: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
            };
            path: {
                /** @description Id of a connector, such as `shopify`. */
                connectorId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Each way to authenticate, with the schema of `data` and a filled-in example. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Id of a connector, such as `shopify`. */
                        connectorId: string;
                        /** @description Ways to authenticate. */
                        authentication: {
                            /** @description How the credential authenticates. */
                            type: string;
                            /** @description Name of this way to authenticate. */
                            title: string;
                            /** @description JSON Schema 2020-12 */
                            inputSchema: {
                                [key: string]: unknown;
                            };
                            /** @description A filled-in example of the input. */
                            sampleInput: {
                                [key: string]: string;
                            };
                            /** @description Documentation of the app; null when there is none. */
                            docsUrl: string | null;
                        }[];
                    };
                };
            };
        };
    };
    listActions: {
        parameters: {
            query?: {
                /** @description Records in a page. */
                limit?: number;
                /** @description Records to skip. */
                offset?: number;
            };
            header?: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
            };
            path: {
                /** @description Id of a connector, such as `shopify`. */
                connectorId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of actions, in the order of the connector. The raw call is the last one, where the key may run actions. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Records of this page. */
                        data: components["schemas"]["Action"][];
                        /** @description Position of this page in the list. */
                        pagination: components["schemas"]["Pagination"];
                    };
                };
            };
        };
    };
    getAction: {
        parameters: {
            query?: never;
            header?: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
            };
            path: {
                /** @description Id of a connector, such as `shopify`. */
                connectorId: string;
                /** @description Id of an action of the connector. */
                actionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The action. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Action"];
                };
            };
        };
    };
    executeAction: {
        parameters: {
            query?: never;
            header: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
                /** @description The end user on whose behalf this is done. */
                "x-svc-userid": string;
                /** @description A repeated key with the same body gets the first answer again, for 24 hours. */
                "Idempotency-Key"?: string;
                /** @description The credential to use, instead of `credentialId`. */
                "x-credential-id"?: string;
            };
            path: {
                /** @description Id of a connector, such as `shopify`. */
                connectorId: string;
                /** @description Id of an action of the connector. */
                actionId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Default: the user's only active credential. */
                    credentialId?: string;
                    /** @description Must equal the id in the path. */
                    actionId?: string;
                    /**
                     * @description Checked against the action's inputSchema before anything is sent.
                     * @default {}
                     */
                    input?: {
                        [key: string]: unknown;
                    };
                    /** @description Return only these members of each record: dotted paths, also through lists, such as `customer.email` and `lines.sku`. `\.` is a dot in a name. `unmatchedFields` lists the members that no record has. */
                    fields?: string[];
                };
            };
        };
        responses: {
            /** @description The value, or a page of records. `Idempotency-Replayed: true` marks a repeated first answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExecutionResult"];
                };
            };
        };
    };
    executeBatch: {
        parameters: {
            query?: never;
            header: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
                /** @description The end user on whose behalf this is done. */
                "x-svc-userid": string;
                /** @description The credential to use for calls of its own connector. */
                "x-credential-id"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The calls, at most ten. */
                    calls: {
                        /** @description Id of a connector, such as `shopify`. */
                        connectorId: string;
                        /** @description Id of an action of the connector. */
                        actionId: string;
                        /** @description Id of a stored credential. */
                        credentialId?: string;
                        /**
                         * @description Input of the call.
                         * @default {}
                         */
                        input?: {
                            [key: string]: unknown;
                        };
                        /** @description Return only these members of each record: dotted paths, also through lists, such as `customer.email` and `lines.sku`. `\.` is a dot in a name. `unmatchedFields` lists the members that no record has. */
                        fields?: string[];
                        /** @description Same as the header of a single call: the same key and call return the first answer again. */
                        idempotencyKey?: string;
                    }[];
                };
            };
        };
        responses: {
            /** @description An outcome for each call, whether it succeeded or not. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description An outcome for each call, in their order. */
                        results: {
                            /** @description Id of a connector, such as `shopify`. */
                            connectorId: string;
                            /** @description Id of an action of the connector. */
                            actionId: string;
                            /** @description The HTTP status that the single call would have had. */
                            status: number;
                            /** @description The value that the app returned. */
                            data?: unknown;
                            /** @description Position of this page in the list. */
                            pagination?: components["schemas"]["Pagination"];
                            /** @description Members of `fields` that no record has. */
                            unmatchedFields?: string[];
                            /** @description How the call is undone, where its connector names an inverse. */
                            undo?: {
                                /** @description Token for the tool `undo_action_svc`, for the same user and server. */
                                undoToken: string;
                                /**
                                 * Format: date-time
                                 * @description ISO 8601, UTC
                                 */
                                expiresAt: string;
                            };
                            /** @description Whether this repeats the first answer. */
                            replayed?: boolean;
                            /** @description Sentence that names the fault and its fix. */
                            error?: string;
                            /**
                             * @description Stable code of the error.
                             * @enum {string}
                             */
                            code?: "invalid_request" | "api_version_missing" | "api_version_unsupported" | "user_id_missing" | "request_meta_invalid" | "request_state_invalid" | "header_mismatch" | "client_capability_missing" | "protocol_version_unsupported" | "redirect_not_allowed" | "oauth_state_invalid" | "unauthorized" | "token_expired" | "restricted" | "forbidden" | "not_found" | "method_not_found" | "server_not_found" | "user_not_found" | "connector_not_found" | "connector_version_not_found" | "action_not_found" | "credential_not_found" | "subscription_not_found" | "delivery_not_found" | "oauth_app_not_found" | "connect_session_taken" | "connect_session_not_found" | "connect_session_expired" | "key_not_found" | "file_not_found" | "record_not_found" | "field_mapping_not_found" | "workflow_not_found" | "workflow_version_not_found" | "starter_not_found" | "installation_not_found" | "run_not_found" | "program_not_found" | "execution_not_found" | "undo_not_found" | "session_not_found" | "method_not_allowed" | "not_acceptable" | "limit_reached" | "connector_exists" | "breaking_changes" | "server_exists" | "key_exists" | "key_rotating" | "environment_key" | "user_exists" | "subscription_exists" | "subscription_disabled" | "workflow_exists" | "installation_exists" | "run_ended" | "program_not_waiting" | "run_not_failed" | "workflow_loop" | "installation_disabled" | "credential_required" | "credential_ambiguous" | "credential_conflict" | "oauth_app_missing" | "credential_invalid" | "idempotency_conflict" | "idempotency_in_progress" | "already_undone" | "possible_duplicate" | "confirmation_too_large" | "confirmation_required" | "definition_changed" | "confirmation_declined" | "url_elicitation_required" | "input_required" | "payload_too_large" | "unsupported_media_type" | "program_failed" | "expression_failed" | "upstream_rejected" | "rate_limited" | "upstream_rate_limited" | "budget_exceeded" | "internal" | "upstream_failed" | "upstream_too_large" | "unavailable" | "circuit_open" | "upstream_timeout";
                            /** @description Id of the request, as in the logs. */
                            requestId?: string;
                            /** @description Further facts about the error. */
                            details?: {
                                [key: string]: unknown;
                            };
                        }[];
                        /** @description Parts of the request that had one meaning and were corrected; absent without any. */
                        corrections?: {
                            /** @description Place in the request, dotted; `path.` begins an id of the path. */
                            path: string;
                            /** @description The value that was sent; shortened when it is long. */
                            from: unknown;
                            /** @description The value or the name that was read; `(left out)` for an ignored null. */
                            to: unknown;
                        }[];
                    };
                };
            };
        };
    };
    uploadFile: {
        parameters: {
            query?: {
                /** @description The user of the file. Required with an API key, unless x-svc-userid names the user. */
                userId?: string;
                /** @description Name of the file, for apps that show one. */
                name?: string;
            };
            header?: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
                /** @description The end user whose data is read. Data of other users is not found. */
                "x-svc-userid"?: string;
            };
            path?: never;
            cookie?: never;
        };
        /** @description The content, at most 100 MiB. */
        requestBody?: {
            content: {
                "*/*": string;
            };
        };
        responses: {
            /** @description The file. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["File"];
                };
            };
        };
    };
    getFile: {
        parameters: {
            query?: {
                /** @description The user of the file. Required with an API key, unless x-svc-userid names the user. */
                userId?: string;
            };
            header?: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
                /** @description The end user whose data is read. Data of other users is not found. */
                "x-svc-userid"?: string;
            };
            path: {
                /** @description Id of a file. */
                fileId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The content. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "*/*": string;
                };
            };
        };
    };
    deleteFile: {
        parameters: {
            query?: {
                /** @description The user of the file. Required with an API key, unless x-svc-userid names the user. */
                userId?: string;
            };
            header?: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
                /** @description The end user whose data is read. Data of other users is not found. */
                "x-svc-userid"?: string;
            };
            path: {
                /** @description Id of a file. */
                fileId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file is deleted. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Confirmation, as a sentence. */
                        message: string;
                        /** @description Id of a file. */
                        fileId: string;
                    };
                };
            };
        };
    };
    listCustomConnectors: {
        parameters: {
            query?: {
                /** @description Records in a page. */
                limit?: number;
                /** @description Records to skip. */
                offset?: number;
                /** @description `nextCursor` of the previous page. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page, by id. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Records of this page. */
                        data: components["schemas"]["CustomConnector"][];
                        /** @description Position of this page in the list. */
                        pagination: components["schemas"]["Pagination"];
                    };
                };
            };
        };
    };
    createCustomConnector: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description A connector file (docs/connectors.md), as an object or as YAML text. */
                    definition?: string | Record<string, never>;
                    /** @description An OpenAPI document instead of a file (docs/connectors.md). */
                    openapi?: components["schemas"]["OpenApiImport"];
                    /** @description A remote MCP server instead of a file (docs/remote-mcp-servers.md). */
                    mcp?: components["schemas"]["RemoteServer"];
                    /** @description Whether an import that breaks callers is stored. Default: false. */
                    acceptBreaking?: boolean;
                    /** @description Whether to check all, store nothing, and only return the report and the changes. Default: false. */
                    dryRun?: boolean;
                };
            };
        };
        responses: {
            /** @description With `dryRun`: the report. Nothing was stored. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Id of a connector, such as `shopify`. */
                        connectorId: string;
                        /** @description Number of the newest version, from 1; 0 for a new connector that was only checked. */
                        version: number;
                        /** @description Parts that an import left out or changed. */
                        report?: components["schemas"]["OpenApiReport"] | components["schemas"]["ImportReport"];
                        /** @description The differences. */
                        changes?: components["schemas"]["ImportChanges"];
                        /** @description Changes after which calls or credentials of today fail. */
                        breaking?: string[];
                        /** @description Whether the tools of a remote server are unknown until a user has connected an account. */
                        pending?: boolean;
                    };
                };
            };
            /** @description The id and the version. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Id of a connector, such as `shopify`. */
                        connectorId: string;
                        /** @description Number of the newest version, from 1; 0 for a new connector that was only checked. */
                        version: number;
                        /** @description Parts that an import left out or changed. */
                        report?: components["schemas"]["OpenApiReport"] | components["schemas"]["ImportReport"];
                        /** @description The differences. */
                        changes?: components["schemas"]["ImportChanges"];
                        /** @description Changes after which calls or credentials of today fail. */
                        breaking?: string[];
                        /** @description Whether the tools of a remote server are unknown until a user has connected an account. */
                        pending?: boolean;
                    };
                };
            };
        };
    };
    getCustomConnector: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of a connector, such as `shopify`. */
                connectorId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The connector and its file. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Id of a connector, such as `shopify`. */
                        connectorId: string;
                        /** @description Number of the version. */
                        version: number;
                        /** @description Name of the app. */
                        name: string;
                        /**
                         * @description Form of its source: `definition` is a connector file, `mcp` a remote MCP server, `openapi` an imported document.
                         * @enum {string}
                         */
                        kind: "definition" | "mcp" | "openapi";
                        /** @description Where its credentials are sent. Credentials of other origins are refused. */
                        origins: string[];
                        /** @description Description of the app. */
                        description: string;
                        /** @description Categories of the app. */
                        categories: string[];
                        /** @description Place of a connector with its id that is used instead; null when there is none. */
                        hiddenBy: ("shipped" | "folder") | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        createdAt: string;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        updatedAt: string;
                        /** @description The connector file, without the changes of the overlay. */
                        definition: {
                            [key: string]: unknown;
                        };
                        /** @description The changes by the operator, as a merge patch (RFC 7396); null: none. */
                        overlay: {
                            [key: string]: unknown;
                        } | null;
                        /** @description Its YAML text as it was sent; null for an object. */
                        text: string | null;
                        /** @description The remote MCP server; null for a connector file. */
                        remote: {
                            /** @description Address of the MCP server. */
                            url: string;
                            /**
                             * @description Ways to authenticate.
                             * @enum {string}
                             */
                            authentication: "none" | "bearer" | "headers" | "oauth2";
                            /** @description Names of the headers of its credentials, in the form `headers`. */
                            headers?: string[];
                            /** @description OAuth scopes that are requested, in the form `oauth2`. */
                            scopes?: string[];
                            /** @description Whether values of the operator read its tools. */
                            operatorAccess: boolean;
                            /** @description Whether its tools are still unknown. */
                            pending: boolean;
                            /** @description When its tools were read last. */
                            readAt: string | null;
                            /** @description Why the last read failed; null when it did not. */
                            error: string | null;
                        } | null;
                    };
                };
            };
        };
    };
    putCustomConnector: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of a connector, such as `shopify`. */
                connectorId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description A connector file (docs/connectors.md), as an object or as YAML text. */
                    definition?: string | Record<string, never>;
                    /** @description An OpenAPI document instead of a file (docs/connectors.md). */
                    openapi?: components["schemas"]["OpenApiImport"];
                    /** @description A remote MCP server instead of a file (docs/remote-mcp-servers.md). */
                    mcp?: components["schemas"]["RemoteServer"];
                    /** @description Whether an import that breaks callers is stored. Default: false. */
                    acceptBreaking?: boolean;
                    /** @description Whether to check all, store nothing, and only return the report and the changes. Default: false. */
                    dryRun?: boolean;
                };
            };
        };
        responses: {
            /** @description The id and the newest version. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Id of a connector, such as `shopify`. */
                        connectorId: string;
                        /** @description Number of the newest version, from 1; 0 for a new connector that was only checked. */
                        version: number;
                        /** @description Parts that an import left out or changed. */
                        report?: components["schemas"]["OpenApiReport"] | components["schemas"]["ImportReport"];
                        /** @description The differences. */
                        changes?: components["schemas"]["ImportChanges"];
                        /** @description Changes after which calls or credentials of today fail. */
                        breaking?: string[];
                        /** @description Whether the tools of a remote server are unknown until a user has connected an account. */
                        pending?: boolean;
                    };
                };
            };
        };
    };
    deleteCustomConnector: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of a connector, such as `shopify`. */
                connectorId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The connector is deleted. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Confirmation, as a sentence. */
                        message: string;
                        /** @description Id of a connector, such as `shopify`. */
                        connectorId: string;
                    };
                };
            };
        };
    };
    listConnectorVersions: {
        parameters: {
            query?: {
                /** @description Records in a page. */
                limit?: number;
                /** @description Records to skip. */
                offset?: number;
                /** @description `nextCursor` of the previous page. */
                cursor?: string;
            };
            header?: never;
            path: {
                /** @description Id of a connector, such as `shopify`. */
                connectorId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page, newest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Records of this page. */
                        data: components["schemas"]["CustomConnectorVersion"][];
                        /** @description Position of this page in the list. */
                        pagination: components["schemas"]["Pagination"];
                    };
                };
            };
        };
    };
    getConnectorVersion: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of a connector, such as `shopify`. */
                connectorId: string;
                /** @description Number of the version. */
                version: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The version and its file. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Id of a connector, such as `shopify`. */
                        connectorId: string;
                        /** @description Number of the version. */
                        version: number;
                        /** @description Name of the app. */
                        name: string;
                        /**
                         * @description Form of its source: `definition` is a connector file, `mcp` a remote MCP server, `openapi` an imported document.
                         * @enum {string}
                         */
                        kind: "definition" | "mcp" | "openapi";
                        /** @description Where its credentials are sent. Credentials of other origins are refused. */
                        origins: string[];
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        createdAt: string;
                        /** @description Caller that sent it: `key:<keyId>`. */
                        createdBy: string;
                        /** @description The connector file, without the changes of the overlay. */
                        definition: {
                            [key: string]: unknown;
                        };
                        /** @description The changes by the operator, as a merge patch (RFC 7396); null: none. */
                        overlay: {
                            [key: string]: unknown;
                        } | null;
                        /** @description Its YAML text as it was sent; null for an object. */
                        text: string | null;
                    };
                };
            };
        };
    };
    diffConnectorVersions: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of a connector, such as `shopify`. */
                connectorId: string;
                /** @description Number of the first version. */
                a: number;
                /** @description Number of the second version. */
                b: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The differences of b from a. Left-out members are compared with their defaults. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Id of a connector, such as `shopify`. */
                        connectorId: string;
                        /** @description Number of the first version. */
                        from: number;
                        /** @description Number of the second version. */
                        to: number;
                        /** @description Ids of new actions. */
                        added: string[];
                        /** @description Ids of actions that are gone. */
                        removed: string[];
                        /** @description Actions that differ. */
                        changed: {
                            /** @description Id of an action of the connector. */
                            actionId: string;
                            /** @description Members of the action that differ. */
                            differences: components["schemas"]["ConnectorDifference"][];
                        }[];
                        /** @description Differences outside of actions. */
                        file: components["schemas"]["ConnectorDifference"][];
                        /** @description Whether more than 1,000 differences exist. */
                        truncated: boolean;
                    };
                };
            };
        };
    };
    reimportConnector: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of a connector, such as `shopify`. */
                connectorId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The OpenAPI document; absent for a remote MCP server. */
                    openapi?: components["schemas"]["OpenApiImport"];
                    /** @description Whether an import that breaks callers is stored. Default: false. */
                    acceptBreaking?: boolean;
                    /** @description Whether to check all, store nothing, and only return the report and the changes. Default: false. */
                    dryRun?: boolean;
                };
            };
        };
        responses: {
            /** @description The newest version, what the import left out, and what it breaks. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Id of a connector, such as `shopify`. */
                        connectorId: string;
                        /** @description Number of the newest version, from 1; 0 for a new connector that was only checked. */
                        version: number;
                        /** @description Parts that an import left out or changed. */
                        report?: components["schemas"]["OpenApiReport"] | components["schemas"]["ImportReport"];
                        /** @description The differences. */
                        changes?: components["schemas"]["ImportChanges"];
                        /** @description Changes after which calls or credentials of today fail. */
                        breaking?: string[];
                        /** @description Whether the tools of a remote server are unknown until a user has connected an account. */
                        pending?: boolean;
                    };
                };
            };
        };
    };
    getConnectorOverlay: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of a connector, such as `shopify`. */
                connectorId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The overlay. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConnectorOverlay"];
                };
            };
        };
    };
    putConnectorOverlay: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of a connector, such as `shopify`. */
                connectorId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    [key: string]: unknown;
                };
            };
        };
        responses: {
            /** @description The overlay and the newest version. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConnectorOverlay"];
                };
            };
        };
    };
    deleteConnectorOverlay: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of a connector, such as `shopify`. */
                connectorId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The newest version, without an overlay. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConnectorOverlay"];
                };
            };
        };
    };
    getClientMetadata: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of a connector, such as `shopify`. */
                connectorId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The metadata. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Address of this document, which is the client id. */
                        client_id: string;
                        /** @description Name of the client. */
                        client_name: string;
                        /** @description Address of Gatehouse. */
                        client_uri: string;
                        /**
                         * @description Type of the client: `web` with an https public URL.
                         * @enum {string}
                         */
                        application_type: "web" | "native";
                        /** @description Redirect addresses of the client. */
                        redirect_uris: string[];
                        /** @description Grants that the client uses. */
                        grant_types: string[];
                        /** @description Response types that the client uses. */
                        response_types: string[];
                        /** @description How the client authenticates at the token endpoint. */
                        token_endpoint_auth_method: string;
                    };
                };
            };
        };
    };
    listCredentials: {
        parameters: {
            query?: {
                /** @description Records in a page. */
                limit?: number;
                /** @description Records to skip. */
                offset?: number;
                /** @description `nextCursor` of the previous page. */
                cursor?: string;
                /** @description Id of a connector, such as `shopify`. */
                connectorId?: string;
            };
            header: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
                /** @description The end user on whose behalf this is done. */
                "x-svc-userid": string;
            };
            path: {
                /** @description Id of an end user. */
                userId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of credentials, oldest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Records of this page. */
                        data: components["schemas"]["Credential"][];
                        /** @description Position of this page in the list. */
                        pagination: components["schemas"]["Pagination"];
                    };
                };
            };
        };
    };
    createCredential: {
        parameters: {
            query?: never;
            header: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
                /** @description The end user on whose behalf this is done. */
                "x-svc-userid": string;
            };
            path: {
                /** @description Id of an end user. */
                userId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Id of a connector, such as `shopify`. */
                    connectorId: string;
                    /** @description Optional when the connector has one type, or when `data` fits only one. */
                    type?: string;
                    /** @description Members of the inputSchema in the credential metadata. Never returned. */
                    data?: {
                        [key: string]: unknown;
                    };
                    /** @description Default: the name of the account, else of the connector. */
                    name?: string;
                    /** @description OAuth: address that the user returns to. One of `redirectUris` of the settings. */
                    redirectUri?: string;
                    /** @description OAuth: returned unchanged with the result. */
                    state?: string;
                };
            };
        };
        responses: {
            /** @description OAuth: the link that the user opens to sign in. Single use, valid for 15 minutes. Otherwise: the credential that the user already had for this account, renewed under the same id. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Link that the user opens to sign in. */
                        authorizationUrl: string;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        expiresAt: string;
                    } | components["schemas"]["Credential"];
                };
            };
            /** @description The credential. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "credentialId": "cred_4mTq8Zc1VbN6xKp2RwLd7F",
                     *       "connectionId": "cred_4mTq8Zc1VbN6xKp2RwLd7F",
                     *       "userId": "usr_4mTq8Zc1VbN6xKp2RwLd7F",
                     *       "connectorId": "sandbox",
                     *       "type": "api_key",
                     *       "name": "Demo shop",
                     *       "state": "active",
                     *       "reason": "The app refused the key.",
                     *       "appMessage": "text",
                     *       "scopes": [
                     *         "read_orders"
                     *       ],
                     *       "account": {
                     *         "id": "acct_1042",
                     *         "name": "Demo shop"
                     *       },
                     *       "default": true,
                     *       "createdAt": "2026-03-01T12:00:00.000Z",
                     *       "updatedAt": "2026-03-01T12:00:00.000Z",
                     *       "lastUsedAt": "2026-03-01T12:00:00.000Z",
                     *       "expiresAt": "2026-03-01T12:00:00.000Z",
                     *       "refreshFailures": 0
                     *     }
                     */
                    "application/json": components["schemas"]["Credential"];
                };
            };
        };
    };
    listAllCredentials: {
        parameters: {
            query: {
                /** @description Records in a page. */
                limit?: number;
                /** @description Records to skip. */
                offset?: number;
                /** @description `nextCursor` of the previous page. */
                cursor?: string;
                /** @description Only credentials in this state. */
                state: "active" | "needs_reconnect" | "revoked";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of credentials, oldest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Records of this page. */
                        data: components["schemas"]["Credential"][];
                        /** @description Position of this page in the list. */
                        pagination: components["schemas"]["Pagination"];
                    };
                };
            };
        };
    };
    getCredential: {
        parameters: {
            query?: never;
            header: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
                /** @description The end user on whose behalf this is done. */
                "x-svc-userid": string;
            };
            path: {
                /** @description Id of an end user. */
                userId: string;
                /** @description Id of a stored credential. */
                credentialId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The credential. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "credentialId": "cred_4mTq8Zc1VbN6xKp2RwLd7F",
                     *       "connectionId": "cred_4mTq8Zc1VbN6xKp2RwLd7F",
                     *       "userId": "usr_4mTq8Zc1VbN6xKp2RwLd7F",
                     *       "connectorId": "sandbox",
                     *       "type": "api_key",
                     *       "name": "Demo shop",
                     *       "state": "active",
                     *       "reason": "The app refused the key.",
                     *       "appMessage": "text",
                     *       "scopes": [
                     *         "read_orders"
                     *       ],
                     *       "account": {
                     *         "id": "acct_1042",
                     *         "name": "Demo shop"
                     *       },
                     *       "default": true,
                     *       "createdAt": "2026-03-01T12:00:00.000Z",
                     *       "updatedAt": "2026-03-01T12:00:00.000Z",
                     *       "lastUsedAt": "2026-03-01T12:00:00.000Z",
                     *       "expiresAt": "2026-03-01T12:00:00.000Z",
                     *       "refreshFailures": 0
                     *     }
                     */
                    "application/json": components["schemas"]["Credential"];
                };
            };
        };
    };
    updateCredential: {
        parameters: {
            query?: never;
            header: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
                /** @description The end user on whose behalf this is done. */
                "x-svc-userid": string;
            };
            path: {
                /** @description Id of an end user. */
                userId: string;
                /** @description Id of a stored credential. */
                credentialId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Name of the credential. */
                    name?: string;
                    /** @description true: calls that name no credential use this one. It replaces the previous default of the user and connector. false: there is no default. Without one, a user with several active accounts of an app has to choose. */
                    default?: boolean;
                    /** @description Members of the inputSchema in the credential metadata. Never returned. */
                    data?: {
                        [key: string]: unknown;
                    };
                };
            };
        };
        responses: {
            /** @description The credential as it is now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "credentialId": "cred_4mTq8Zc1VbN6xKp2RwLd7F",
                     *       "connectionId": "cred_4mTq8Zc1VbN6xKp2RwLd7F",
                     *       "userId": "usr_4mTq8Zc1VbN6xKp2RwLd7F",
                     *       "connectorId": "sandbox",
                     *       "type": "api_key",
                     *       "name": "Demo shop",
                     *       "state": "active",
                     *       "reason": "The app refused the key.",
                     *       "appMessage": "text",
                     *       "scopes": [
                     *         "read_orders"
                     *       ],
                     *       "account": {
                     *         "id": "acct_1042",
                     *         "name": "Demo shop"
                     *       },
                     *       "default": true,
                     *       "createdAt": "2026-03-01T12:00:00.000Z",
                     *       "updatedAt": "2026-03-01T12:00:00.000Z",
                     *       "lastUsedAt": "2026-03-01T12:00:00.000Z",
                     *       "expiresAt": "2026-03-01T12:00:00.000Z",
                     *       "refreshFailures": 0
                     *     }
                     */
                    "application/json": components["schemas"]["Credential"];
                };
            };
        };
    };
    deleteCredential: {
        parameters: {
            query?: never;
            header: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
                /** @description The end user on whose behalf this is done. */
                "x-svc-userid": string;
            };
            path: {
                /** @description Id of an end user. */
                userId: string;
                /** @description Id of a stored credential. */
                credentialId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The credential is deleted. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Confirmation, as a sentence. */
                        message: string;
                        /** @description Id of a stored credential. */
                        credentialId: string;
                    };
                };
            };
        };
    };
    checkCredential: {
        parameters: {
            query?: never;
            header: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
                /** @description The end user on whose behalf this is done. */
                "x-svc-userid": string;
            };
            path: {
                /** @description Id of an end user. */
                userId: string;
                /** @description Id of a stored credential. */
                credentialId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The credential with its state after the test. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "credentialId": "cred_4mTq8Zc1VbN6xKp2RwLd7F",
                     *       "connectionId": "cred_4mTq8Zc1VbN6xKp2RwLd7F",
                     *       "userId": "usr_4mTq8Zc1VbN6xKp2RwLd7F",
                     *       "connectorId": "sandbox",
                     *       "type": "api_key",
                     *       "name": "Demo shop",
                     *       "state": "active",
                     *       "reason": "The app refused the key.",
                     *       "appMessage": "text",
                     *       "scopes": [
                     *         "read_orders"
                     *       ],
                     *       "account": {
                     *         "id": "acct_1042",
                     *         "name": "Demo shop"
                     *       },
                     *       "default": true,
                     *       "createdAt": "2026-03-01T12:00:00.000Z",
                     *       "updatedAt": "2026-03-01T12:00:00.000Z",
                     *       "lastUsedAt": "2026-03-01T12:00:00.000Z",
                     *       "expiresAt": "2026-03-01T12:00:00.000Z",
                     *       "refreshFailures": 0,
                     *       "checked": true
                     *     }
                     */
                    "application/json": components["schemas"]["CheckedCredential"];
                };
            };
        };
    };
    getConnectionWebhook: {
        parameters: {
            query?: never;
            header: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
                /** @description The end user on whose behalf this is done. */
                "x-svc-userid": string;
            };
            path: {
                /** @description Id of an end user. */
                userId: string;
                /** @description Id of a stored credential. */
                credentialId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Address, state and steps. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConnectionWebhook"];
                };
            };
        };
    };
    setUpConnectionWebhook: {
        parameters: {
            query?: never;
            header: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
                /** @description The end user on whose behalf this is done. */
                "x-svc-userid": string;
            };
            path: {
                /** @description Id of an end user. */
                userId: string;
                /** @description Id of a stored credential. */
                credentialId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Secret that the app shows. Required where `secretFrom` is `app`, refused otherwise. */
                    secret?: string;
                };
            };
        };
        responses: {
            /** @description The secret was replaced. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConnectionWebhookWithSecret"];
                };
            };
            /** @description The address, and our secret. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConnectionWebhookWithSecret"];
                };
            };
        };
    };
    deleteConnectionWebhook: {
        parameters: {
            query?: never;
            header: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
                /** @description The end user on whose behalf this is done. */
                "x-svc-userid": string;
            };
            path: {
                /** @description Id of an end user. */
                userId: string;
                /** @description Id of a stored credential. */
                credentialId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The address is deleted. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Confirmation, as a sentence. */
                        message: string;
                        /** @description Id of a stored credential. */
                        credentialId: string;
                    };
                };
            };
        };
    };
    getOAuthApp: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of a connector, such as `shopify`. */
                connectorId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The OAuth app, without its secret. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OAuthApp"];
                };
            };
        };
    };
    putOAuthApp: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of a connector, such as `shopify`. */
                connectorId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Client id of the OAuth app. */
                    clientId: string;
                    /** @description Optional when the app supports public clients. */
                    clientSecret?: string;
                    /** @description Default: the scopes of the connector. */
                    scopes?: string[];
                    /** @description The host where the app is registered, for connectors with many hosts: `{"siteUrl": "https://gitlab.example.com"}`. Users are not asked for it when they sign in. The secret is sent only to this host. */
                    fields?: {
                        [key: string]: string;
                    };
                };
            };
        };
        responses: {
            /** @description The OAuth app, without its secret. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OAuthApp"];
                };
            };
        };
    };
    deleteOAuthApp: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of a connector, such as `shopify`. */
                connectorId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The OAuth app is deleted. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Confirmation, as a sentence. */
                        message: string;
                        /** @description Id of a connector, such as `shopify`. */
                        connectorId: string;
                    };
                };
            };
        };
    };
    reconnectCredential: {
        parameters: {
            query?: never;
            header: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
                /** @description The end user on whose behalf this is done. */
                "x-svc-userid": string;
            };
            path: {
                /** @description Id of an end user. */
                userId: string;
                /** @description Id of a stored credential. */
                credentialId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Address that the user returns to. One of `redirectUris` of the settings. */
                    redirectUri?: string;
                    /** @description Returned unchanged with the result. */
                    state?: string;
                    /** @description Scopes to ask for in addition to those of the connector or its OAuth app. */
                    scopes?: string[];
                };
            };
        };
        responses: {
            /** @description The link, shown here only. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Link that the user opens to sign in. */
                        authorizationUrl: string;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        expiresAt: string;
                    };
                };
            };
        };
    };
    createConnectSession: {
        parameters: {
            query?: never;
            header?: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
            };
            path: {
                /** @description Id of an end user. */
                userId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The apps to choose from; all when left out. */
                    connectors?: string[];
                    /** @description Address that the user returns to. One of `redirectUris` of the settings. */
                    redirectUri?: string;
                    /** @description Returned unchanged with the result. */
                    state?: string;
                };
            };
        };
        responses: {
            /** @description The link, shown here only. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Id of a connect session. */
                        sessionId: string;
                        /** @description The link to open. */
                        url: string;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        expiresAt: string;
                    };
                };
            };
        };
    };
    getUserConnectSession: {
        parameters: {
            query?: never;
            header?: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
            };
            path: {
                /** @description Id of an end user. */
                userId: string;
                /** @description Id of a connect session. */
                sessionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The session. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConnectSession"];
                };
            };
        };
    };
    chooseUserAccount: {
        parameters: {
            query?: never;
            header?: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
            };
            path: {
                /** @description Id of an end user. */
                userId: string;
                /** @description Id of a connect session. */
                sessionId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The account to connect, from `choosing` of the session. */
                    accountId: string;
                };
            };
        };
        responses: {
            /** @description The account is connected. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Result of the session. */
                        result: components["schemas"]["ConnectResult"];
                        /** @description Next address of the browser. */
                        redirectTo?: string;
                    };
                };
            };
        };
    };
    createModalSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description Must be the environment of the JWT. A page built for one environment sends it.
                     * @enum {string}
                     */
                    environment?: "development" | "production";
                    /** @description The connectorId of the app to connect. */
                    app?: string;
                    /** @description Category to choose from; not together with `app`. */
                    category?: string;
                    /** @description Connectors to choose from. */
                    connectors?: string[];
                    /** @description The account to reconnect; not together with app, category or connectors. */
                    credentialId?: string;
                    /** @description Address that the page returns to when popups are blocked. One of `redirectUris`. */
                    returnTo?: string;
                    /** @description Returned unchanged with the result. */
                    state?: string;
                };
            };
        };
        responses: {
            /** @description The session, with the link that a popup opens. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ModalSession"];
                };
            };
        };
    };
    openConnectLink: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The secret part of the link. */
                link: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The session behind the link. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConnectSession"];
                };
            };
        };
    };
    getConnectSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of a connect session. */
                sessionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The session. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConnectSession"];
                };
            };
        };
    };
    submitConnectForm: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of a connect session. */
                sessionId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "connectorId": "sandbox",
                 *       "type": "api_key"
                 *     }
                 */
                "application/json": {
                    /** @description Id of a connector, such as `shopify`. */
                    connectorId: string;
                    /** @description How the credential authenticates. */
                    type: string;
                    /**
                     * @description Values of the connector's form.
                     * @default {}
                     */
                    data?: {
                        [key: string]: unknown;
                    };
                };
            };
        };
        responses: {
            /** @description The account is connected. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Result of the session. */
                        result: components["schemas"]["ConnectResult"];
                        /** @description Next address of the browser. */
                        redirectTo?: string;
                    };
                };
            };
        };
    };
    authorizeConnect: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of a connect session. */
                sessionId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "connectorId": "sandbox",
                 *       "type": "oauth2"
                 *     }
                 */
                "application/json": {
                    /** @description Id of a connector, such as `shopify`. */
                    connectorId: string;
                    /** @description How the credential authenticates. */
                    type: string;
                    /**
                     * @description Values of the connector's form.
                     * @default {}
                     */
                    data?: {
                        [key: string]: unknown;
                    };
                    /** @description Origin of the page that chose for the user, in a window of its own. Must be one of `origins` of the settings. */
                    page?: string;
                };
            };
        };
        responses: {
            /** @description Address of the consent page. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Link that the user opens to sign in. */
                        authorizationUrl: string;
                    };
                };
            };
        };
    };
    cancelConnect: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of a connect session. */
                sessionId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description The result of the session; a session that had ended before keeps its result. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Result of the session. */
                        result: components["schemas"]["ConnectResult"];
                        /** @description Next address of the browser. */
                        redirectTo?: string;
                    };
                };
            };
        };
    };
    chooseConnectAccount: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of a connect session. */
                sessionId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The account to connect, from `choosing` of the session. */
                    accountId: string;
                };
            };
        };
        responses: {
            /** @description The account is connected. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Result of the session. */
                        result: components["schemas"]["ConnectResult"];
                        /** @description Next address of the browser. */
                        redirectTo?: string;
                    };
                };
            };
        };
    };
    listAccounts: {
        parameters: {
            query?: {
                /** @description Records in a page. */
                limit?: number;
                /** @description Records to skip. */
                offset?: number;
                /** @description `nextCursor` of the previous page. */
                cursor?: string;
                /** @description Id of a connector, such as `shopify`. */
                connectorId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of credentials, oldest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Records of this page. */
                        data: components["schemas"]["Credential"][];
                        /** @description Position of this page in the list. */
                        pagination: components["schemas"]["Pagination"];
                    };
                };
            };
        };
    };
    markAccount: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of a stored credential. */
                credentialId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description true: calls that name no credential use this account, and no other account of the app. false: there is no default. */
                    default: boolean;
                };
            };
        };
        responses: {
            /** @description The credential as it is now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "credentialId": "cred_4mTq8Zc1VbN6xKp2RwLd7F",
                     *       "connectionId": "cred_4mTq8Zc1VbN6xKp2RwLd7F",
                     *       "userId": "usr_4mTq8Zc1VbN6xKp2RwLd7F",
                     *       "connectorId": "sandbox",
                     *       "type": "api_key",
                     *       "name": "Demo shop",
                     *       "state": "active",
                     *       "reason": "The app refused the key.",
                     *       "appMessage": "text",
                     *       "scopes": [
                     *         "read_orders"
                     *       ],
                     *       "account": {
                     *         "id": "acct_1042",
                     *         "name": "Demo shop"
                     *       },
                     *       "default": true,
                     *       "createdAt": "2026-03-01T12:00:00.000Z",
                     *       "updatedAt": "2026-03-01T12:00:00.000Z",
                     *       "lastUsedAt": "2026-03-01T12:00:00.000Z",
                     *       "expiresAt": "2026-03-01T12:00:00.000Z",
                     *       "refreshFailures": 0
                     *     }
                     */
                    "application/json": components["schemas"]["Credential"];
                };
            };
        };
    };
    disconnectAccount: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of a stored credential. */
                credentialId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The credential is deleted. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Confirmation, as a sentence. */
                        message: string;
                        /** @description Id of a stored credential. */
                        credentialId: string;
                    };
                };
            };
        };
    };
    getPortal: {
        parameters: {
            query?: {
                /** @description Environment of the page, which must be the one of the JWT. */
                environment?: "development" | "production";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The user, and whether there are subscriptions to show. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description The end user. */
                        user: {
                            /** @description Name of the user in your application. */
                            username: string;
                        };
                        /** @description Name, logo and colour of the application. */
                        branding: {
                            /** @description Name of the application. */
                            name: string;
                            /**
                             * Format: uri
                             * @description Address of the logo.
                             */
                            logoUrl?: string;
                            /** @description Colour of buttons, `#rrggbb`. */
                            color?: string;
                        };
                        /** @description Whether the user has webhook subscriptions. */
                        hasSubscriptions: boolean;
                    };
                };
            };
        };
    };
    listPortalAccounts: {
        parameters: {
            query?: {
                /** @description Records in a page. */
                limit?: number;
                /** @description Records to skip. */
                offset?: number;
                /** @description `nextCursor` of the previous page. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of credentials with their apps, oldest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Records of this page. */
                        data: components["schemas"]["PortalAccount"][];
                        /** @description Position of this page in the list. */
                        pagination: components["schemas"]["Pagination"];
                    };
                };
            };
        };
    };
    checkAccount: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of a stored credential. */
                credentialId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The credential with its state after the test. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "credentialId": "cred_4mTq8Zc1VbN6xKp2RwLd7F",
                     *       "connectionId": "cred_4mTq8Zc1VbN6xKp2RwLd7F",
                     *       "userId": "usr_4mTq8Zc1VbN6xKp2RwLd7F",
                     *       "connectorId": "sandbox",
                     *       "type": "api_key",
                     *       "name": "Demo shop",
                     *       "state": "active",
                     *       "reason": "The app refused the key.",
                     *       "appMessage": "text",
                     *       "scopes": [
                     *         "read_orders"
                     *       ],
                     *       "account": {
                     *         "id": "acct_1042",
                     *         "name": "Demo shop"
                     *       },
                     *       "default": true,
                     *       "createdAt": "2026-03-01T12:00:00.000Z",
                     *       "updatedAt": "2026-03-01T12:00:00.000Z",
                     *       "lastUsedAt": "2026-03-01T12:00:00.000Z",
                     *       "expiresAt": "2026-03-01T12:00:00.000Z",
                     *       "refreshFailures": 0,
                     *       "checked": true
                     *     }
                     */
                    "application/json": components["schemas"]["CheckedCredential"];
                };
            };
        };
    };
    listPortalSubscriptions: {
        parameters: {
            query?: {
                /** @description Records in a page. */
                limit?: number;
                /** @description Records to skip. */
                offset?: number;
                /** @description `nextCursor` of the previous page. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page, oldest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Records of this page. */
                        data: components["schemas"]["PortalSubscription"][];
                        /** @description Position of this page in the list. */
                        pagination: components["schemas"]["Pagination"];
                    };
                };
            };
        };
    };
    listPortalDeliveries: {
        parameters: {
            query?: {
                /** @description Records in a page. */
                limit?: number;
                /** @description Records to skip. */
                offset?: number;
                /** @description `nextCursor` of the previous page. */
                cursor?: string;
                /** @description Only deliveries in this state. */
                status?: "waiting" | "succeeded" | "dead" | "cancelled";
                /** @description Only this delivery. */
                deliveryId?: string;
            };
            header?: never;
            path: {
                /** @description Id of a webhook subscription. */
                subscriptionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of deliveries, newest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Records of this page. */
                        data: components["schemas"]["PortalDelivery"][];
                        /** @description Position of this page in the list. */
                        pagination: components["schemas"]["Pagination"];
                    };
                };
            };
        };
    };
    replayPortalDelivery: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of a webhook subscription. */
                subscriptionId: string;
                /** @description Id of a delivery. */
                deliveryId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The delivery is due as soon as the subscription allows. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Id of a delivery. */
                        deliveryId: string;
                    };
                };
            };
        };
    };
    oauthCallback: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of a connector, such as `shopify`. */
                connectorId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Redirect to the application, or to the page with the result. */
            303: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": string;
                };
            };
        };
    };
    listUnified: {
        parameters: {
            query: {
                /** @description Id of a credential. */
                connectionId: string;
                /** @description Records in a page. */
                limit?: number;
                /** @description Records to skip. */
                offset?: number;
            };
            header?: {
                /** @description The end user whose data is read. Data of other users is not found. */
                "x-svc-userid"?: string;
            };
            path: {
                /** @description First part of the scope. */
                category: string;
                /** @description Second part of the scope: `customers`, `orders` or `products`. */
                model: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of records, in the order of the app. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Records of this page. */
                        data: (components["schemas"]["Customer"] | components["schemas"]["Order"] | components["schemas"]["Product"] | components["schemas"]["Contact"] | components["schemas"]["Company"] | components["schemas"]["Deal"] | components["schemas"]["AccountingContact"] | components["schemas"]["Invoice"] | components["schemas"]["Payment"] | components["schemas"]["Ticket"] | components["schemas"]["AppRecord"])[];
                        /** @description Position of this page in the list. */
                        pagination: components["schemas"]["Pagination"];
                        /** @description Records of the page that do not fit the model; absent when all fit. */
                        leftOut?: {
                            /** @description Id of the record at the app. */
                            remoteId: string | null;
                            /** @description Reason that the record does not fit the model. */
                            reason: string;
                        }[];
                    };
                };
            };
        };
    };
    createUnified: {
        parameters: {
            query: {
                /** @description Id of a credential. */
                connectionId: string;
            };
            header?: {
                /** @description The end user whose data is read. Data of other users is not found. */
                "x-svc-userid"?: string;
                /** @description A repeated key with the same body does not write again, for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description Category of apps, such as `commerce`. */
                category: string;
                /** @description Second part of the scope: `customers`, `orders` or `products`. */
                model: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    [key: string]: unknown;
                };
            };
        };
        responses: {
            /** @description The new record. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Customer"] | components["schemas"]["Order"] | components["schemas"]["Product"] | components["schemas"]["Contact"] | components["schemas"]["Company"] | components["schemas"]["Deal"] | components["schemas"]["AccountingContact"] | components["schemas"]["Invoice"] | components["schemas"]["Payment"] | components["schemas"]["Ticket"];
                };
            };
        };
    };
    getUnified: {
        parameters: {
            query: {
                /** @description Id of a credential. */
                connectionId: string;
            };
            header?: {
                /** @description The end user whose data is read. Data of other users is not found. */
                "x-svc-userid"?: string;
            };
            path: {
                /** @description First part of the scope. */
                category: string;
                /** @description Second part of the scope: `customers`, `orders` or `products`. */
                model: string;
                /** @description Unified id of the record. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The record. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Customer"] | components["schemas"]["Order"] | components["schemas"]["Product"] | components["schemas"]["Contact"] | components["schemas"]["Company"] | components["schemas"]["Deal"] | components["schemas"]["AccountingContact"] | components["schemas"]["Invoice"] | components["schemas"]["Payment"] | components["schemas"]["Ticket"] | components["schemas"]["AppRecord"];
                };
            };
        };
    };
    updateUnified: {
        parameters: {
            query: {
                /** @description Id of a credential. */
                connectionId: string;
            };
            header?: {
                /** @description The end user whose data is read. Data of other users is not found. */
                "x-svc-userid"?: string;
                /** @description A repeated key with the same body does not write again, for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description Category of apps, such as `commerce`. */
                category: string;
                /** @description Second part of the scope: `customers`, `orders` or `products`. */
                model: string;
                /** @description Unified id of the record, stable. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    [key: string]: unknown;
                };
            };
        };
        responses: {
            /** @description The changed record. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Customer"] | components["schemas"]["Order"] | components["schemas"]["Product"] | components["schemas"]["Contact"] | components["schemas"]["Company"] | components["schemas"]["Deal"] | components["schemas"]["AccountingContact"] | components["schemas"]["Invoice"] | components["schemas"]["Payment"] | components["schemas"]["Ticket"];
                };
            };
        };
    };
    listFieldMappings: {
        parameters: {
            query?: {
                /** @description Records in a page. */
                limit?: number;
                /** @description Records to skip. */
                offset?: number;
                /** @description `nextCursor` of the previous page. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of levels, oldest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Records of this page. */
                        data: components["schemas"]["FieldMapping"][];
                        /** @description Position of this page in the list. */
                        pagination: components["schemas"]["Pagination"];
                    };
                };
            };
        };
    };
    putFieldMapping: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description Subject of the events, such as `commerce/orders`.
                     * @enum {string}
                     */
                    scope: "commerce/customers" | "commerce/orders" | "commerce/products" | "crm/contacts" | "crm/companies" | "crm/deals" | "accounting/contacts" | "accounting/invoices" | "accounting/payments" | "ticketing/tickets";
                    /** @description Id of a connector, such as `shopify`. */
                    connectorId?: string;
                    /** @description Id of a connection. It equals the credentialId. */
                    connectionId?: string;
                    /** @description JSONata expression of each field, by its name. */
                    fields: {
                        [key: string]: string;
                    };
                };
            };
        };
        responses: {
            /** @description The level as it is now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FieldMapping"];
                };
            };
        };
    };
    deleteFieldMapping: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of a field mapping. */
                mappingId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The level is deleted. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Confirmation, as a sentence. */
                        message: string;
                        /** @description Id of a field mapping. */
                        mappingId: string;
                    };
                };
            };
        };
    };
    listSubscriptions: {
        parameters: {
            query?: {
                /** @description Records in a page. */
                limit?: number;
                /** @description Records to skip. */
                offset?: number;
                /** @description `nextCursor` of the previous page. */
                cursor?: string;
                /** @description Id of a connection. It equals the credentialId. */
                connectionId?: string;
                /** @description Only subscriptions of this user. */
                userId?: string;
                /** @description Only subscriptions of this state. `failing`: active, and every attempt fails. */
                state?: "active" | "disabled" | "failing";
            };
            header?: {
                /** @description The end user whose data is read. Data of other users is not found. */
                "x-svc-userid"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page, oldest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Records of this page. */
                        data: components["schemas"]["Subscription"][];
                        /** @description Position of this page in the list. */
                        pagination: components["schemas"]["Pagination"];
                    };
                };
            };
        };
    };
    createSubscription: {
        parameters: {
            query: {
                /** @description The connection, which also determines the user. */
                connectionId: string;
            };
            header?: {
                /** @description The end user whose data is read. Data of other users is not found. */
                "x-svc-userid"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description An https address that accepts POST. Private, loopback, link-local and metadata addresses are rejected, here and again at each connection. */
                    address: string;
                    /** @description A unified model such as `commerce/orders`, or `<connectorId>/<event source>` such as `slack/message.posted`. `GET /connectors/{connectorId}` lists the scopes of a connector. */
                    scope: string;
                    /**
                     * @description Event types to deliver. Polled sources see deletions at the daily reconcile.
                     * @default [
                     *       "created"
                     *     ]
                     */
                    events?: ("created" | "updated" | "deleted")[];
                    /** @description Sent with each delivery; stored encrypted, and only their names are shown again. */
                    headers?: {
                        [key: string]: string;
                    };
                    /** @description Most deliveries that may start in one second. */
                    ratePerSecond?: number;
                    /**
                     * @description One delivery at a time, in the order of x-svc-sequence. A failed delivery blocks the later ones.
                     * @default false
                     */
                    ordered?: boolean;
                    /**
                     * @description Also deliver existing records as `created`, only to this subscription.
                     * @default false
                     */
                    backfill?: boolean;
                };
            };
        };
        responses: {
            /** @description The subscription, and its secret. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SubscriptionWithSecret"];
                };
            };
        };
    };
    getSubscription: {
        parameters: {
            query?: never;
            header?: {
                /** @description The end user whose data is read. Data of other users is not found. */
                "x-svc-userid"?: string;
            };
            path: {
                /** @description Id of a webhook subscription. */
                subscriptionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The subscription. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Subscription"];
                };
            };
        };
    };
    updateSubscription: {
        parameters: {
            query?: never;
            header?: {
                /** @description The end user whose data is read. Data of other users is not found. */
                "x-svc-userid"?: string;
            };
            path: {
                /** @description Id of a webhook subscription. */
                subscriptionId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description An https address that accepts POST. Private, loopback, link-local and metadata addresses are rejected, here and again at each connection. */
                    address?: string;
                    /** @description Event types to deliver. Polled sources see deletions at the daily reconcile. */
                    events?: ("created" | "updated" | "deleted")[];
                    /** @description Sent with each delivery; stored encrypted, and only their names are shown again. */
                    headers?: {
                        [key: string]: string;
                    };
                    /** @description Most deliveries that may start in one second; null for no limit. */
                    ratePerSecond?: number | null;
                    /** @description One delivery at a time, in the order of x-svc-sequence. A failed delivery blocks the later ones. */
                    ordered?: boolean;
                };
            };
        };
        responses: {
            /** @description The subscription as it is now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Subscription"];
                };
            };
        };
    };
    deleteSubscription: {
        parameters: {
            query?: never;
            header?: {
                /** @description The end user whose data is read. Data of other users is not found. */
                "x-svc-userid"?: string;
            };
            path: {
                /** @description Id of a webhook subscription. */
                subscriptionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The subscription is deleted. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Confirmation, as a sentence. */
                        message: string;
                        /** @description Id of a webhook subscription. */
                        subscriptionId: string;
                    };
                };
            };
        };
    };
    rotateSubscriptionSecret: {
        parameters: {
            query?: never;
            header?: {
                /** @description The end user whose data is read. Data of other users is not found. */
                "x-svc-userid"?: string;
            };
            path: {
                /** @description Id of a webhook subscription. */
                subscriptionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The subscription, and its new secret. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SubscriptionWithSecret"];
                };
            };
        };
    };
    enableSubscription: {
        parameters: {
            query?: never;
            header?: {
                /** @description The end user whose data is read. Data of other users is not found. */
                "x-svc-userid"?: string;
            };
            path: {
                /** @description Id of a webhook subscription. */
                subscriptionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The subscription as it is now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Subscription"];
                };
            };
        };
    };
    callWorkflow: {
        parameters: {
            query?: never;
            header?: {
                /** @description Calls with the same key within 24 hours start one run. The key with another body is refused. */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description Token of the installation, from its `hookUrl`. */
                token: string;
            };
            cookie?: never;
        };
        /** @description JSON, or a form. */
        requestBody?: {
            content: {
                "*/*": string;
            };
        };
        responses: {
            /** @description The run is queued. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Id of a run. */
                        runId: string;
                    };
                };
            };
        };
    };
    checkHook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of a connector, such as `shopify`. */
                connectorId: string;
                /** @description Token of the source, from the address that the app was given. */
                token: string;
            };
            cookie?: never;
        };
        /** @description The body that the app sent. */
        requestBody?: {
            content: {
                "*/*": string;
            };
        };
        responses: {
            /** @description The webhook is stored. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * @description Whether the webhook is stored.
                         * @constant
                         */
                        received: true;
                    };
                };
            };
        };
    };
    receiveHook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of a connector, such as `shopify`. */
                connectorId: string;
                /** @description Token of the source, from the address that the app was given. */
                token: string;
            };
            cookie?: never;
        };
        /** @description The body that the app sent. */
        requestBody?: {
            content: {
                "*/*": string;
            };
        };
        responses: {
            /** @description The webhook is stored. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * @description Whether the webhook is stored.
                         * @constant
                         */
                        received: true;
                    };
                };
            };
        };
    };
    listDeliveries: {
        parameters: {
            query?: {
                /** @description Records in a page. */
                limit?: number;
                /** @description Records to skip. */
                offset?: number;
                /** @description `nextCursor` of the previous page. */
                cursor?: string;
                /** @description Only deliveries in this state. */
                status?: "waiting" | "succeeded" | "dead" | "cancelled";
            };
            header?: {
                /** @description The end user whose data is read. Data of other users is not found. */
                "x-svc-userid"?: string;
            };
            path: {
                /** @description Id of a webhook subscription. */
                subscriptionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of deliveries. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Records of this page. */
                        data: components["schemas"]["Delivery"][];
                        /** @description Position of this page in the list. */
                        pagination: components["schemas"]["Pagination"];
                    };
                };
            };
        };
    };
    summarizeDeliveries: {
        parameters: {
            query?: {
                /** @description Hours to count, the current one included. */
                hours?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The counts, in all and by hour. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliverySummary"];
                };
            };
        };
    };
    replayDelivery: {
        parameters: {
            query?: never;
            header?: {
                /** @description The end user whose data is read. Data of other users is not found. */
                "x-svc-userid"?: string;
            };
            path: {
                /** @description Id of a webhook subscription. */
                subscriptionId: string;
                /** @description Id of a delivery. */
                deliveryId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The delivery is due as soon as the subscription allows. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Id of a delivery. */
                        deliveryId: string;
                    };
                };
            };
        };
    };
    recoverDeliveries: {
        parameters: {
            query?: never;
            header?: {
                /** @description The end user whose data is read. Data of other users is not found. */
                "x-svc-userid"?: string;
            };
            path: {
                /** @description Id of a webhook subscription. */
                subscriptionId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * Format: date-time
                     * @description Start of the time range, ISO 8601.
                     */
                    since: string;
                    /**
                     * Format: date-time
                     * @description End of the time range, ISO 8601. Default: now.
                     */
                    until?: string;
                };
            };
        };
        responses: {
            /** @description The number of deliveries that it started. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Id of a webhook subscription. */
                        subscriptionId: string;
                        /** @description Number of deliveries that were started. */
                        recovered: number;
                    };
                };
            };
        };
    };
    sendTestEvent: {
        parameters: {
            query?: never;
            header?: {
                /** @description The end user whose data is read. Data of other users is not found. */
                "x-svc-userid"?: string;
            };
            path: {
                /** @description Id of a webhook subscription. */
                subscriptionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The delivery is stored and due at once. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Id of a delivery. */
                        deliveryId: string;
                    };
                };
            };
        };
    };
    listWorkflows: {
        parameters: {
            query?: {
                /** @description Records in a page. */
                limit?: number;
                /** @description Records to skip. */
                offset?: number;
                /** @description `nextCursor` of the previous page. */
                cursor?: string;
            };
            header?: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page, oldest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Records of this page. */
                        data: components["schemas"]["Workflow"][];
                        /** @description Position of this page in the list. */
                        pagination: components["schemas"]["Pagination"];
                    };
                };
            };
        };
    };
    createWorkflow: {
        parameters: {
            query?: never;
            header?: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Unique in the environment, case-insensitive. */
                    name: string;
                    /** @description Trigger and steps of the workflow. */
                    definition: components["schemas"]["WorkflowDefinition"];
                    /**
                     * @description Whether to store a draft. A draft can be tested. The next version replaces it, and no installation moves to it.
                     * @default false
                     */
                    draft?: boolean;
                };
            };
        };
        responses: {
            /** @description The workflow, with version 1. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Workflow"];
                };
            };
        };
    };
    getWorkflow: {
        parameters: {
            query?: never;
            header?: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
            };
            path: {
                /** @description Id of a workflow. */
                workflowId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The workflow with its newest version. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Workflow"];
                };
            };
        };
    };
    deleteWorkflow: {
        parameters: {
            query?: never;
            header?: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
            };
            path: {
                /** @description Id of a workflow. */
                workflowId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The workflow is deleted. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Confirmation, as a sentence. */
                        message: string;
                        /** @description Id of a workflow. */
                        workflowId: string;
                    };
                };
            };
        };
    };
    listWorkflowVersions: {
        parameters: {
            query?: {
                /** @description Records in a page. */
                limit?: number;
                /** @description Records to skip. */
                offset?: number;
                /** @description `nextCursor` of the previous page. */
                cursor?: string;
            };
            header?: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
            };
            path: {
                /** @description Id of a workflow. */
                workflowId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page, newest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Records of this page. */
                        data: components["schemas"]["WorkflowVersion"][];
                        /** @description Position of this page in the list. */
                        pagination: components["schemas"]["Pagination"];
                    };
                };
            };
        };
    };
    addWorkflowVersion: {
        parameters: {
            query?: never;
            header?: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
            };
            path: {
                /** @description Id of a workflow. */
                workflowId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Trigger and steps of the workflow. */
                    definition: components["schemas"]["WorkflowDefinition"];
                    /**
                     * @description Whether to store a draft. A draft can be tested. The next version replaces it, and no installation moves to it.
                     * @default false
                     */
                    draft?: boolean;
                };
            };
        };
        responses: {
            /** @description The version. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowVersion"];
                };
            };
        };
    };
    getWorkflowVersion: {
        parameters: {
            query?: never;
            header?: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
            };
            path: {
                /** @description Id of a workflow. */
                workflowId: string;
                /** @description Number of the version. */
                version: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The version. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowVersion"];
                };
            };
        };
    };
    publishWorkflowVersion: {
        parameters: {
            query?: never;
            header?: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
            };
            path: {
                /** @description Id of a workflow. */
                workflowId: string;
                /** @description Number of the version. */
                version: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The published version, which never changes. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowVersion"];
                };
            };
        };
    };
    tryWorkflowVersion: {
        parameters: {
            query?: {
                /** @description The end user; required with an API key. */
                userId?: string;
            };
            header?: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
            };
            path: {
                /** @description Id of a workflow. */
                workflowId: string;
                /** @description Number of the version. */
                version: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Default: that of the run `fromRunId`, else an empty one. */
                    config?: {
                        [key: string]: unknown;
                    };
                    /**
                     * @description credentialId for each connectorId.
                     * @default {}
                     */
                    credentials?: {
                        [key: string]: string;
                    };
                    /** @description Input of a manual trigger. Other triggers use it as the record of an event or the body of a call. */
                    input?: unknown;
                    /** @description The only step to run. Default: all steps. */
                    stepId?: string;
                    /**
                     * @description Results of steps before `stepId`, by their stepId, as expressions read them below `steps`.
                     * @default {}
                     */
                    given?: {
                        [key: string]: {
                            [key: string]: unknown;
                        };
                    };
                    /** @description A run of this workflow and user. The test of a step uses its results, and its trigger and configuration unless the body has them. */
                    fromRunId?: string;
                };
            };
        };
        responses: {
            /** @description The run is queued. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Id of a run. */
                        runId: string;
                    };
                };
            };
        };
    };
    diffWorkflowVersions: {
        parameters: {
            query?: never;
            header?: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
            };
            path: {
                /** @description Id of a workflow. */
                workflowId: string;
                /** @description Number of the first version. */
                a: number;
                /** @description Number of the second version. */
                b: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The differences, and whether installations can be upgraded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Number of the first version. */
                        from: number;
                        /** @description Number of the second version. */
                        to: number;
                        /** @description Whether installations can be upgraded. */
                        upgradable: boolean;
                        /** @description Configurable fields that only the new version has. */
                        addedFields: string[];
                        /** @description Configurable fields that only the old version has. */
                        removedFields: string[];
                        /** @description Configurable fields that differ. */
                        changedFields: string[];
                        /** @description The differences. */
                        changes: {
                            /** @description Path of the member that differs. */
                            path: string;
                            /**
                             * @description Kind of the difference.
                             * @enum {string}
                             */
                            kind: "added" | "removed" | "changed" | "moved";
                            /** @description The value before; absent or null when it is new. */
                            before?: unknown;
                            /** @description The value after; absent or null when it was removed. */
                            after?: unknown;
                        }[];
                    };
                };
            };
        };
    };
    getInstallForm: {
        parameters: {
            query?: {
                /** @description The end user; required with an API key. */
                userId?: string;
            };
            header?: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
            };
            path: {
                /** @description Id of a workflow. */
                workflowId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The form, and the installation if there is one. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Id of a workflow. */
                        workflowId: string;
                        /** @description Name of the workflow. */
                        name: string;
                        /** @description Number of the version. */
                        version: number;
                        /** @description JSON Schema of the values that an end user enters. */
                        configurableFields: {
                            [key: string]: unknown;
                        };
                        /** @description Apps that the workflow needs. */
                        connectors: {
                            /** @description Id of a connector, such as `shopify`. */
                            connectorId: string;
                            /** @description Name of the app. */
                            name: string;
                            /** @description Address of the icon. */
                            iconUrl: string;
                            /** @description Whether the app needs a credential. */
                            needsAccount: boolean;
                            /** @description Credentials of the user to choose from. */
                            credentials: {
                                /** @description Id of a stored credential. */
                                credentialId: string;
                                /** @description Name of the credential. */
                                name: string;
                            }[];
                        }[];
                        /** @description The installation; null when there is none. */
                        installation: components["schemas"]["Installation"] | null;
                        /** @description Name, logo and colour of the application. */
                        branding: {
                            /** @description Name of the application. */
                            name: string;
                            /**
                             * Format: uri
                             * @description Address of the logo.
                             */
                            logoUrl?: string;
                            /** @description Colour of buttons, `#rrggbb`. */
                            color?: string;
                        };
                        /** @description The end user. */
                        user: {
                            /** @description Name of the user in your application. */
                            username: string;
                        };
                    };
                };
            };
        };
    };
    updateInstallation: {
        parameters: {
            query?: {
                /** @description The end user; required with an API key. */
                userId?: string;
            };
            header?: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
            };
            path: {
                /** @description Id of a workflow. */
                workflowId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Checked against the version's configurableFields. */
                    config?: {
                        [key: string]: unknown;
                    };
                    /** @description connectorId → credentialId. Default: the single active one of the user. */
                    credentials?: {
                        [key: string]: string;
                    };
                    /** @description Whether it is enabled. */
                    enabled?: boolean;
                };
            };
        };
        responses: {
            /** @description The installation as it is now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Installation"];
                };
            };
        };
    };
    installWorkflow: {
        parameters: {
            query?: {
                /** @description The end user; required with an API key. */
                userId?: string;
            };
            header?: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
            };
            path: {
                /** @description Id of a workflow. */
                workflowId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description Checked against the version's configurableFields.
                     * @default {}
                     */
                    config?: {
                        [key: string]: unknown;
                    };
                    /**
                     * @description connectorId → credentialId. Default: the single active one of the user.
                     * @default {}
                     */
                    credentials?: {
                        [key: string]: string;
                    };
                };
            };
        };
        responses: {
            /** @description The installation, with its address for a `call` trigger. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InstallationWithHook"];
                };
            };
        };
    };
    uninstallWorkflow: {
        parameters: {
            query?: {
                /** @description The end user; required with an API key. */
                userId?: string;
            };
            header?: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
            };
            path: {
                /** @description Id of a workflow. */
                workflowId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The workflow is uninstalled. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Confirmation, as a sentence. */
                        message: string;
                        /** @description Id of a workflow. */
                        workflowId: string;
                        /** @description Id of an end user. */
                        userId: string;
                    };
                };
            };
        };
    };
    rotateWorkflowHook: {
        parameters: {
            query?: {
                /** @description The end user; required with an API key. */
                userId?: string;
            };
            header?: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
            };
            path: {
                /** @description Id of a workflow. */
                workflowId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The new address. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Address to POST to for starting a run. Shown only here. */
                        hookUrl: string;
                    };
                };
            };
        };
    };
    listInstallations: {
        parameters: {
            query?: {
                /** @description Records in a page. */
                limit?: number;
                /** @description Records to skip. */
                offset?: number;
                /** @description `nextCursor` of the previous page. */
                cursor?: string;
                /** @description The end user; required with an API key. */
                userId?: string;
            };
            header?: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
            };
            path: {
                /** @description Id of a workflow. */
                workflowId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page, oldest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Records of this page. */
                        data: components["schemas"]["Installation"][];
                        /** @description Position of this page in the list. */
                        pagination: components["schemas"]["Pagination"];
                    };
                };
            };
        };
    };
    upgradeWorkflow: {
        parameters: {
            query: {
                /** @description The end user. */
                userId: string;
                /** @description Whether to return the outcome without any change. */
                dryRun?: "true" | "false";
            };
            header?: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
            };
            path: {
                /** @description Id of a workflow. */
                workflowId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Whether it was upgraded. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Whether the installation moved to the newest version. */
                        upgraded: boolean;
                        /** @description Previous version. */
                        from: number;
                        /** @description Newest version. */
                        to: number;
                        /** @description Reason that the installation was not upgraded; absent when it was. */
                        reason?: string;
                        /** @description Configurable fields that only the new version has. */
                        addedFields?: string[];
                        /** @description Configurable fields that only the old version has. */
                        removedFields?: string[];
                        /** @description Configurable fields that differ. */
                        changedFields?: string[];
                    };
                };
            };
        };
    };
    upgradeAllInstallations: {
        parameters: {
            query?: never;
            header?: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
            };
            path: {
                /** @description Id of a workflow. */
                workflowId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description Share of the installations to upgrade, 0 to 100.
                     * @default 100
                     */
                    percent?: number;
                    /**
                     * @description Whether to report the outcome without a change.
                     * @default false
                     */
                    dryRun?: boolean;
                };
            };
        };
        responses: {
            /** @description The outcome. Lists name at most 100 installations. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Newest version. */
                        to: number;
                        /** @description Whether to report the outcome without a change. */
                        dryRun: boolean;
                        /** @description Share of the installations to upgrade, 0 to 100. */
                        percent: number;
                        /** @description Number of installations. */
                        installations: number;
                        /** @description Number of installations that were upgraded. */
                        upgraded: number;
                        /** @description Installations that were already on the newest version. */
                        current: number;
                        /** @description Installations outside the percentage. */
                        left: number;
                        /** @description Installations that cannot be upgraded, at most 100. */
                        refused: {
                            /** @description Id of an end user. */
                            userId: string;
                            /** @description Version of the installation. */
                            from: number;
                            /** @description Reason that the installation cannot be upgraded. */
                            reason: string;
                        }[];
                        /** @description Number of installations that cannot be upgraded. */
                        refusedCount: number;
                        /** @description Installations whose upgrade failed, at most 100. */
                        failed: {
                            /** @description Id of an end user. */
                            userId: string;
                            /** @description Version of the installation. */
                            from: number;
                            /** @description Stable code of the error. */
                            code: string;
                            /** @description Reason that the upgrade failed, as a sentence. */
                            error: string;
                        }[];
                        /** @description Number of installations whose upgrade failed. */
                        failedCount: number;
                    };
                };
            };
        };
    };
    rollbackWorkflow: {
        parameters: {
            query: {
                /** @description Id of an end user. */
                userId: string;
            };
            header?: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
            };
            path: {
                /** @description Id of a workflow. */
                workflowId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Whether it returned to the previous version. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Whether the installation was rolled back. */
                        rolledBack: boolean;
                        /** @description Previous version. */
                        from: number;
                        /** @description Version after the rollback. */
                        to: number;
                        /** @description Reason that the installation was not rolled back; absent when it was. */
                        reason?: string;
                    };
                };
            };
        };
    };
    listRuns: {
        parameters: {
            query?: {
                /** @description Records in a page. */
                limit?: number;
                /** @description Records to skip. */
                offset?: number;
                /** @description `nextCursor` of the previous page. */
                cursor?: string;
                /** @description Only runs of this end user. */
                userId?: string;
                /** @description Only runs with this status. */
                status?: "queued" | "running" | "waiting" | "succeeded" | "failed" | "cancelled";
                /** @description Only runs of this workflow. */
                workflowId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of runs. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Records of this page. */
                        data: components["schemas"]["Run"][];
                        /** @description Position of this page in the list. */
                        pagination: components["schemas"]["Pagination"];
                    };
                };
            };
        };
    };
    runWorkflow: {
        parameters: {
            query?: {
                /** @description The end user; required with an API key. */
                userId?: string;
            };
            header?: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
                /** @description The same key within 24 hours gives the run that it started; with another input it is refused. */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description Id of a workflow. */
                workflowId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Input of a manual trigger. Other triggers use it as the record of an event or the body of a call. */
                    input?: unknown;
                };
            };
        };
        responses: {
            /** @description The run is queued. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Id of a run. */
                        runId: string;
                    };
                };
            };
        };
    };
    listWorkflowRuns: {
        parameters: {
            query?: {
                /** @description Records in a page. */
                limit?: number;
                /** @description Records to skip. */
                offset?: number;
                /** @description `nextCursor` of the previous page. */
                cursor?: string;
                /** @description The end user; required with an API key. */
                userId?: string;
                /** @description Only runs with this status. */
                status?: "queued" | "running" | "waiting" | "succeeded" | "failed" | "cancelled";
            };
            header?: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
            };
            path: {
                /** @description Id of a workflow. */
                workflowId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of runs. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Records of this page. */
                        data: components["schemas"]["Run"][];
                        /** @description Position of this page in the list. */
                        pagination: components["schemas"]["Pagination"];
                    };
                };
            };
        };
    };
    getWorkflowRun: {
        parameters: {
            query?: {
                /** @description Only a run of this end user. */
                userId?: string;
            };
            header?: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
            };
            path: {
                /** @description Id of a workflow. */
                workflowId: string;
                /** @description Id of a run. */
                runId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunDetails"];
                };
            };
        };
    };
    cancelWorkflowRun: {
        parameters: {
            query?: {
                /** @description Only a run of this end user. */
                userId?: string;
            };
            header?: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
            };
            path: {
                /** @description Id of a workflow. */
                workflowId: string;
                /** @description Id of a run. */
                runId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The run as it is now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Run"];
                };
            };
        };
    };
    retryWorkflowRun: {
        parameters: {
            query?: {
                /** @description Only a run of this end user. */
                userId?: string;
            };
            header?: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
            };
            path: {
                /** @description Id of a workflow. */
                workflowId: string;
                /** @description Id of a run. */
                runId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The run is queued. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Run"];
                };
            };
        };
    };
    listWorkflowStarters: {
        parameters: {
            query?: never;
            header?: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All starters. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Records of this page. */
                        data: components["schemas"]["WorkflowStarter"][];
                    };
                };
            };
        };
    };
    getWorkflowStarter: {
        parameters: {
            query?: never;
            header?: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
            };
            path: {
                /** @description Id of a starter. */
                starterId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The starter. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowStarter"];
                };
            };
        };
    };
    createWorkflowFromStarter: {
        parameters: {
            query?: never;
            header?: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
            };
            path: {
                /** @description Id of a starter. */
                starterId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Name of the workflow. Default: the name of the starter. */
                    name?: string;
                    /**
                     * @description Apps that play the parts of the starter, by the name of the part.
                     * @default {}
                     */
                    roles?: {
                        [key: string]: {
                            /** @description App that plays the part. */
                            connectorId?: string;
                            /** @description Action that plays the part. */
                            actionId?: string;
                            /** @description Input of the action. Text that begins with `=` is an expression. */
                            input?: {
                                [key: string]: unknown;
                            };
                        };
                    };
                };
            };
        };
        responses: {
            /** @description The workflow, with version 1. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Workflow"];
                };
            };
        };
    };
    listExecutions: {
        parameters: {
            query?: {
                /** @description Records in a page. */
                limit?: number;
                /** @description Records to skip. */
                offset?: number;
                /** @description `nextCursor` of the previous page. */
                cursor?: string;
                /** @description Id of an MCP server. */
                serverId?: string;
                /** @description Id of an end user. */
                userId?: string;
                /** @description Id of a connector, such as `shopify`. */
                connectorId?: string;
                /** @description Id of an action of the connector. */
                actionId?: string;
                /** @description Outcome of the call. */
                outcome?: "succeeded" | "failed" | "denied";
                /** @description Only calls of this program. */
                programId?: string;
                /** @description Only calls of this account, also those that its state stopped. */
                credentialId?: string;
                /** @description Only executions at or after this time. */
                from?: string;
                /** @description Only executions before this time. */
                to?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of executions. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Records of this page. */
                        data: components["schemas"]["Execution"][];
                        /** @description Position of this page in the list. */
                        pagination: components["schemas"]["Pagination"];
                    };
                };
            };
        };
    };
    summarizeExecutions: {
        parameters: {
            query?: {
                /** @description Hours to count, the current one included. */
                hours?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The counts, in all and by hour. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExecutionSummary"];
                };
            };
        };
    };
    getExecution: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of an execution. */
                executionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The execution. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExecutionDetails"];
                };
            };
        };
    };
    undoExecution: {
        parameters: {
            query?: never;
            header?: {
                /** @description Version of the API. */
                "x-api-version"?: "2025-09";
                /** @description The end user whose data is read. Data of other users is not found. */
                "x-svc-userid"?: string;
            };
            path: {
                /** @description Id of an execution. */
                executionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The call is undone. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UndoResult"];
                };
            };
        };
    };
    listProblemReports: {
        parameters: {
            query?: {
                /** @description Records in a page. */
                limit?: number;
                /** @description Records to skip. */
                offset?: number;
                /** @description `nextCursor` of the previous page. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of reports. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Records of this page. */
                        data: components["schemas"]["ProblemReport"][];
                        /** @description Position of this page in the list. */
                        pagination: components["schemas"]["Pagination"];
                    };
                };
            };
        };
    };
    listOpenCircuits: {
        parameters: {
            query?: {
                /** @description Records in a page. */
                limit?: number;
                /** @description Records to skip. */
                offset?: number;
                /** @description `nextCursor` of the previous page. */
                cursor?: string;
                /** @description Id of an end user. */
                userId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of actions. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Records of this page. */
                        data: components["schemas"]["OpenCircuit"][];
                        /** @description Position of this page in the list. */
                        pagination: components["schemas"]["Pagination"];
                    };
                };
            };
        };
    };
    listFruitlessSearches: {
        parameters: {
            query?: {
                /** @description Records in a page. */
                limit?: number;
                /** @description Records to skip. */
                offset?: number;
                /** @description `nextCursor` of the previous page. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of queries. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Records of this page. */
                        data: components["schemas"]["FruitlessSearch"][];
                        /** @description Position of this page in the list. */
                        pagination: components["schemas"]["Pagination"];
                    };
                };
            };
        };
    };
    getOverview: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Numbers of things in the environment. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Overview"];
                };
            };
        };
    };
    getSettings: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The settings. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Settings"];
                };
            };
        };
    };
    putSettings: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description `on` when users may create MCP servers with their JWT.
                     * @enum {string}
                     */
                    userServers?: "on" | "off";
                    /** @description Restrictions of all servers that users created. */
                    userServerRestrictions?: components["schemas"]["Restrictions"];
                    /** @description Origins of pages that may show the modal and call with a JWT. */
                    origins?: string[];
                    /** @description Addresses that users may return to; compared exactly. */
                    redirectUris?: string[];
                    /** @description Name, logo and colour of the application. */
                    branding?: {
                        /** @description Name of the application. */
                        name?: string;
                        /**
                         * Format: uri
                         * @description Address of the logo.
                         */
                        logoUrl?: string;
                        /** @description Colour of buttons, `#rrggbb`. */
                        color?: string;
                    };
                    /**
                     * @description Content of calls that is stored: `messages` the error of a failed call, `errors` also its input, `all` the input and output of every call, `off` none.
                     * @enum {string}
                     */
                    payloads?: "off" | "messages" | "errors" | "all";
                    /** @description Days for which inputs and outputs are stored. A change holds for later calls. */
                    payloadDays?: number;
                    /**
                     * @description Whether the search of actions ranks by the executions that followed earlier searches, and counts them.
                     * @enum {string}
                     */
                    searchLearning?: "on" | "off";
                    /** @description An https address; null stops the events. They are signed like all deliveries. */
                    eventsAddress?: string | null;
                };
            };
        };
        responses: {
            /** @description The settings as they are now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * @description `on` when users may create MCP servers with their JWT.
                         * @default on
                         * @enum {string}
                         */
                        userServers: "on" | "off";
                        /**
                         * @description Restrictions of all servers that users created.
                         * @default {}
                         */
                        userServerRestrictions: components["schemas"]["Restrictions"];
                        /**
                         * @description Origins of pages that may show the modal and call with a JWT.
                         * @default []
                         */
                        origins: string[];
                        /**
                         * @description Addresses that users may return to; compared exactly.
                         * @default []
                         */
                        redirectUris: string[];
                        /**
                         * @description Content of calls that is stored: `messages` the error of a failed call, `errors` also its input, `all` the input and output of every call, `off` none.
                         * @default messages
                         * @enum {string}
                         */
                        payloads: "off" | "messages" | "errors" | "all";
                        /**
                         * @description Days for which inputs and outputs are stored. A change holds for later calls.
                         * @default 7
                         */
                        payloadDays: number;
                        /**
                         * @description Whether the search of actions ranks by the executions that followed earlier searches, and counts them.
                         * @default on
                         * @enum {string}
                         */
                        searchLearning: "on" | "off";
                        /**
                         * @description Name, logo and colour of the application.
                         * @default {}
                         */
                        branding: {
                            /** @description Name of the application. */
                            name?: string;
                            /**
                             * Format: uri
                             * @description Address of the logo.
                             */
                            logoUrl?: string;
                            /** @description Colour of buttons, `#rrggbb`. */
                            color?: string;
                        };
                        /** @description Address for the events of this environment: credential.created, credential.needs_reconnect, credential.deleted, subscription.disabled, poll.gap_risk, run.failed, run.recovered. */
                        eventsAddress: string | null;
                        /** @description Subscription of these events, for /webhooks/{subscriptionId}/…. */
                        eventsSubscriptionId?: string;
                        /** @description Signs the events of `eventsAddress`. Shown only when the address is first set. */
                        eventsSecret?: string;
                    };
                };
            };
        };
    };
    listKeys: {
        parameters: {
            query?: {
                /** @description Records in a page. */
                limit?: number;
                /** @description Records to skip. */
                offset?: number;
                /** @description `nextCursor` of the previous page. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of keys. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Records of this page. */
                        data: components["schemas"]["ApiKey"][];
                        /** @description Position of this page in the list. */
                        pagination: components["schemas"]["Pagination"];
                    };
                };
            };
        };
    };
    createKey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Name of the key, unique in the environment, case-insensitive. */
                    name: string;
                    /** @description Permissions of the key. */
                    scopes: ("servers:read" | "servers:write" | "servers:token" | "tools:read" | "tools:approve" | "mcp:use" | "users:read" | "users:write" | "users:token" | "connectors:read" | "connectors:write" | "credentials:read" | "credentials:write" | "oauth-apps:read" | "oauth-apps:write" | "connect:write" | "actions:execute" | "files:read" | "files:write" | "unified:read" | "unified:write" | "webhooks:read" | "webhooks:write" | "workflows:read" | "workflows:write" | "workflows:install" | "workflows:run" | "executions:read" | "payloads:read" | "audit:read" | "settings:read" | "settings:write" | "keys:read" | "keys:write")[];
                    /** @description Days until the key expires. Default: it does not expire. */
                    expiresInDays?: number;
                };
            };
        };
        responses: {
            /** @description The key, shown here only. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiKeyWithSecret"];
                };
            };
        };
    };
    rotateKey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The new key, shown here only. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * @description `development` or `production`.
                         * @enum {string}
                         */
                        environment: "development" | "production";
                        /** @description The new API key. */
                        apiKey: string;
                    };
                };
            };
        };
    };
    rotateNamedKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of an API key. */
                keyId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description Seconds for which the earlier secret stays valid, 30 days at most. Default: 0.
                     * @default 0
                     */
                    overlapSeconds?: number;
                };
            };
        };
        responses: {
            /** @description The key with its new secret, shown here only. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiKeyWithSecret"];
                };
            };
        };
    };
    endPreviousSecret: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of an API key. */
                keyId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The key. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiKey"];
                };
            };
        };
    };
    revokeKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of an API key. */
                keyId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The key is revoked. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Confirmation, as a sentence. */
                        message: string;
                        /** @description Id of an API key. */
                        keyId: string;
                    };
                };
            };
        };
    };
    listAudit: {
        parameters: {
            query?: {
                /** @description Records in a page. */
                limit?: number;
                /** @description Records to skip. */
                offset?: number;
                /** @description `nextCursor` of the previous page. */
                cursor?: string;
                /** @description Start of the time range, ISO 8601. */
                since?: string;
                /** @description End of the time range, ISO 8601. Default: now. */
                until?: string;
                /** @description Only entries of this caller: `key:<keyId>`, `jwt:<userId>`, `cli`. */
                caller?: string;
                /** @description Only entries of this operation. */
                operation?: string;
                /** @description Only entries with exactly this target. */
                target?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of entries. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Records of this page. */
                        data: components["schemas"]["AuditEntry"][];
                        /** @description Position of this page in the list. */
                        pagination: components["schemas"]["Pagination"];
                    };
                };
            };
        };
    };
    getHealth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The process is alive. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * @description Always `healthy`.
                         * @constant
                         */
                        status: "healthy";
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        timestamp: string;
                    };
                };
            };
        };
    };
    getReady: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Ready. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * @description Whether the service is ready.
                         * @enum {string}
                         */
                        status: "ready" | "not_ready";
                        /** @description Faults that keep the service from being ready. */
                        missing: string[];
                    };
                };
            };
        };
    };
    getMetrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The metrics. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
        };
    };
    getJwks: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A JWK Set (RFC 7517). */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Public keys in the form of RFC 7517. */
                        keys: {
                            [key: string]: unknown;
                        }[];
                    };
                };
            };
        };
    };
    getProtectedResource: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of an MCP server. */
                serverId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The metadata. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * Format: uri
                         * @description Address of the MCP server.
                         */
                        resource: string;
                        /** @description Issuers whose tokens are accepted. */
                        authorization_servers: string[];
                        /** @description How tokens are sent. */
                        bearer_methods_supported: string[];
                        /** @description Name of the MCP server. */
                        resource_name: string;
                    };
                };
            };
        };
    };
}
