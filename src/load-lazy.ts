/**
 * Loads the code that otherwise loads at its first use, because the first answers of a start should not wait for it. An
 * update may then replace its files before the restart.
 */
export async function loadLazy(): Promise<void> {
  await Promise.all([
    import('./rest.ts'),
    import('./connectors/parse.ts'),
    import('./custom/custom-definition.ts'),
    import('./custom/folder-definition.ts'),
    import('./custom/listed-changes.ts'),
    import('./search/action-search.ts'),
    import('./mcp/scope/offered.ts'),
    import('./mcp/tools/tool-listings.ts'),
    import('./remote/remote-records.ts'),
    import('./remote/sign-in.ts'),
    import('./sources/source-turns.ts'),
    import('./sources/webhooks/intake.ts'),
    import('./subscriptions/listener.ts'),
    import('./telemetry/prometheus.ts'),
    import('./upstream/remote/client-check.ts'),
    import('./upstream/remote/discovery.ts'),
    import('./upstream/remote/send.ts'),
    import('./upstream/remote/session.ts'),
    import('./upstream/sign.ts'),
    import('./workflows/configurable-fields.ts'),
    import('./workflows/occasions.ts'),
    import('./workflows/runs.ts'),
    import('./workflows/turn.ts'),
    import('./workflows/workflow-definition.ts'),
    import('jose'),
    import('jsonata'),
    import('oauth4webapi'),
    import('yaml'),
  ]);
}
