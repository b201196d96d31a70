import type { Action } from '../../connectors/catalog.ts';
import type { Decision } from '../../servers/restrictions.ts';
import type { ToolDefinition } from '../scope/tool-definition.ts';
import { BUILT_IN_BY_NAME } from './tools.ts';
import { VIEW_URI } from '../scope/view-document.ts';
import type { Viewer } from '../scope/visible-types.ts';

/** Returns the tools, with the address of the document at those whose results it shows. */
export function withViews(
  { tools, direct }: { tools: readonly ToolDefinition[]; direct: ReadonlyMap<string, Action> },
  decision: Pick<Decision, 'confirms'>,
  viewer: Viewer,
): readonly ToolDefinition[] {
  const questions = viewer === 'unasked';
  const needsAgreement = ({ effects }: Pick<Action, 'effects'>) =>
    effects.some((effect) => decision.confirms(effect) !== undefined);
  const isViewed = ({ name }: ToolDefinition): boolean => {
    const action = direct.get(name);
    if (action) return action.list || (questions && needsAgreement(action));
    const view = BUILT_IN_BY_NAME.get(name)?.view;
    return view === 'results' || (view === 'questions' && questions);
  };
  return tools.map((tool) => {
    const { _meta: meta, ...rest } = tool;
    return isViewed(tool) ? { ...rest, _meta: { ...meta, ui: { resourceUri: VIEW_URI } } } : tool;
  });
}
