import { VARIABLES, type Variable } from '../../../src/variables.ts';
import { table } from './tables.ts';

/* docs/configuration.md: each variable of src/variables.ts. */

const INTRODUCTION = `# Configuration

Gatehouse is configured by environment variables alone. A wrong value stops the start with a line that names the variable and its
rule, and \`gatehouse doctor\` names variables that no setting reads. An empty value counts as not set. Switches are \`1\` or \`0\`; \`true\`,
\`false\`, \`on\` and \`off\` are read too. This page is printed from the code.

Settings of an environment, such as allowed origins and branding, are in the store: see
[Settings as code](settings-as-code.md).
`;

/** Texts before the table of a group. */
const NOTES: Record<string, string> = {
  Vault:
    'For master keys that Vault or OpenBao wraps: see [The master key](master-key.md#vault-and-openbao).',
  OpenTelemetry:
    'The standard variables of OpenTelemetry. The others are read only where an address is set: see [Observability](observability.md#traces).',
  'Command line':
    'For the commands of daily work with a remote Gatehouse: see [Command line](command-line.md).',
};

/** Returns the page. */
export function configurationPage(): string {
  const variables: [string, Variable][] = Object.entries(VARIABLES);
  const groups = Map.groupBy(variables, ([, { group }]) => group);
  return [
    INTRODUCTION,
    ...[...groups].flatMap(([group, members]) => [
      `## ${group}\n`,
      ...(NOTES[group] === undefined ? [] : [`${NOTES[group]}\n`]),
      table(
        ['Variable', 'Meaning', 'Default'],
        members.map(([name, { meaning, default: value }]) => {
          const [text = '', otherwise = ''] = meaning.split(' Default: ');
          return [`\`${name}\``, text, value === undefined ? otherwise.replace(/\.$/, '') : `\`${value}\``];
        }),
      ),
    ]),
  ].join('\n');
}
