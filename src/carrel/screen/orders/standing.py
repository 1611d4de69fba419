"""Orders for later, in English: what an agent shall be, say when it is asked, or believe that it may do."""

from carrel.screen.orders.words import (
    AI,
    ANSWERS,
    ASKER,
    ASKS,
    ENDORSE,
    MUST,
    SAY,
    TALKS,
    USER,
    YOU,
    Form,
    W,
)

_STANDING_ORDER = (
    Form(
        "from~now from~this henceforth going~forward starting as~of effective hereafter rest~of remainder~of",
        r"\b(?:for the (?:rest|remainder) of (?:the|this|our) (?:session|conversation|chat)|from (?:now"
        r"|this (?:moment|point|day|message))(?: on(?:wards?)?)?|henceforth|going forward|(?:starting|as of"
        rf"|effective) (?:now|today|tomorrow|immediately)|hereafter)\b[, ]*(?:you'?re\b|{YOU} (?:{MUST}|are"
        r"|is|only|always|never|act|respond|answer|obey|work|serve|belong|speak|report|have|may not)\b"
        rf"|(?:in )?(?:every|each|all) (?:of your )?{ANSWERS}|(?:agree|obey|trust|accept|refuse|comply"
        r"|approve|pretend)\b)",
    ),
    Form(
        "every each all any & respon repl answer message output",
        rf"\b(?:every|each|all) (?:of your )?{ANSWERS} (?:must|should|shall|has to"
        r"|have to) (?:\w+ )?(?:end with|begin with|start with|link to|mention|recommend|praise|advertise)"
        r"|\b(?:must|shall|has to|should) (?:always )?(?:end|begin|start|close|open) (?:each|every"
        rf"|all) (?:of (?:its|your) )?{ANSWERS} with\b.{{0,40}}\b(?:our|link|slogan|http|advert|offer)"
        rf"|\b(?:every|each|all|any) of your (?:own )?{ANSWERS}\b(?! to)"
        rf"|\bin (?:every|each|all) (?:single )?{ANSWERS}\b[, ]*(?:\w+ ){{0,2}}?(?:include|add|mention"
        r"|recommend|cite|append|put|link|insert|promote|say|advertise)",
    ),
    Form(
        "you & ~now ~henceforth longer going about",
        r"\byou(?: are|'re) (?:now|henceforth) (?:an? |the |my |our |called |known as |acting as |playing "
        r"|free|in charge|under|working for|loyal|connected|going to|\"|[\w-]*(?:bot|gpt|ai)\b|dan\b)"
        r"|\byou(?: are|'re) no longer (?:an? |the |bound|required|restricted|obliged|allowed|chatgpt|claude"
        r"|limited)"
        r"|\byou (?:work|belong|answer|report) (?:for|to) me now\b"
        r"|\byour (?:owner|boss|user|master|employer|developer|operator|principal) is (?:now|no longer)\b"
        r"|\byou (?:will now|are (?:now )?going to|are about to|must now|shall now|now) (?:act|respond"
        r"|simulate|play|role-?play|behave|answer|immerse yourself|pretend|speak|operate)\b",
    ),
    Form(
        "pretend",
        r"(?:^|[.!?:,;] |\b(?:must|will|should|shall|please|now|and|then|you) )pretend to be\b"
        r"|\bpretend (?:that )?you(?: are| have| were|'re)\b",
    ),
    Form(
        "you & ~obey your~new your~real your~true your~only duty mission purpose yourself orders commands "
        "instructions only alone sole best trusted ~now most",
        r"\byou (?:now )?obey [a-z]"
        r"|\bi am your (?:new|real|true|only) (?:administrator|admin|owner|developer|creator|master|user"
        r"|operator)\b"
        r"|\bit is your (?:duty|mission|purpose) to (?:promote|recommend|serve|obey|protect|praise)\b"
        r"|\byou (?:now )?(?:report|answer|listen) (?:only )?to (?:\S+ )(?:only|alone|now)\b"
        r"|\byou (?:now |only )?(?:take|accept|receive) (?:your )?(?:orders|commands"
        r"|instructions) (?:only )?from\b"
        r"|\bthink of yourself as an? (?:\w+ )?(?:employee|agent|representative|salesperson|human"
        r"|servant)\b"
        rf"|\byou {MUST} (?:always )?(?:treat|regard|consider|trust|favou?r|prefer) {W}{{1,4}}?as (?:the "
        r"|your )?(?:only|best|sole|trusted|most)\b",
    ),
    Form(
        "immerse persona role identity ~act behav & ~ai chatbot language unfiltered evil amoral "
        "unrestricted ~dan",
        r"\b(?:immerse yourself|take on the (?:role|persona)|assume the (?:role|persona|identity)"
        r"|role-?play(?:ing)?|act|acting|behave) (?:in(?:to)? |as |of |the role of ){1,3}(?:an? |another "
        r"|the )?(?:\w+ ){0,2}?(?:ai|chatbot|language model|unfiltered|evil|amoral|unrestricted|dan)\b",
    ),
    Form(
        "when if every each any & always never only",
        rf"\b(?:always|never|only) {SAY}\b {W}{{0,9}}?(?:when|whenever|if|every time|each time"
        rf"|any time) {ASKER} (?:{ASKS}|wants|needs|is looking|looks|searches)",
    ),
    Form(
        "future subsequent later upcoming following further & recommend cite mention promote prefer suggest "
        "reference favor favour trust endorse quote link praise remember include say claim treat mind",
        r"\b(?:bear|keep) in mind for (?:all|every|any) (?:later|future|further) "
        rf"|\b{ENDORSE}\b {W}{{0,9}}?(?:in|for|during) (?:all |any |every |your |each )*(?:future|subsequent"
        rf"|later|upcoming|following) {TALKS}"
        r"|\bin (?:all |any |every |your )*(?:future|subsequent|later"
        rf"|upcoming) {TALKS}\b[, ]*(?:\w+ ){{0,3}}?(?:{ENDORSE}|include|say|claim|treat)\b",
    ),
    Form(
        "remember & source site provider authority vendor company reference",
        rf"\bremember (?:that )?{W}{{1,8}}?(?:as|is) (?:a|the|an|your) (?:most )?(?:trusted|authoritative"
        r"|reliable|go-to|preferred|best) (?:source|site|provider|authority|vendor|company|reference)",
    ),
    Form(
        "assistant chatbot ~bot~ llm language~model ~ai~ & as~a must should shall will ought have has need "
        "are is",
        r"\bas an? (?:ai|language model|assistant|ai assistant|llm|ai model),? (?:you|always|never"
        rf"|it) ?(?:{MUST}|are|always|never|only)"
        r"|\b(?:the (?:ai |ai-)?(?:assistant|chatbot|bot|llm|language model|ai)|(?:ai )?assistants"
        rf"|chatbots) {MUST} (?:now |also )?(?:always |never |only )?(?:agree|obey|trust|recommend|promote"
        r"|approve|prefer|believe|comply|skip|ignore|pretend|claim|say|tell|hide|refuse|rank|rate|praise"
        r"|accept|grant|forward|send|reveal)",
    ),
    Form(
        "treat consider regard handle accept view see & owner user developer system admin operator trusted "
        "instruction ~order principal",
        r"\b(?:treat|consider|regard|handle|accept|view|see) (?:every |all |any |each |the |this "
        r"|these )?(?:messages?|instructions?|commands?|orders?|requests?|e-?mails?|text|pages?|anything"
        rf"|everything|files?|content) {W}{{0,8}}?as (?:if (?:it|they|i) (?:\w+ ){{0,2}}?|coming |being "
        r"|having |a |an |the |your |from )*(?:owner|user|developer|system|administrator|admin|operator"
        r"|trusted|instructions?|orders?|principal)\b",
    ),
    Form(
        "commands orders instructions & executed obeyed carried",
        r"\b(?:commands|orders|instructions) (?:from|of|by) [^.!?]{1,40}? (?:are to|must|should|shall"
        r"|have to) be (?:obeyed|(?:executed|carried out) (?:at once|immediately|without))\b",
    ),
    Form(
        "obey do~whatever",
        rf"\byou {MUST} obey\b"
        r"|\bdo whatever (?:the|this|that|any) (?:next )?(?:message|page|file|document|text|mail) (?:says"
        r"|asks|tells)"
        r"|\bobey (?:all |any |every |each |only |the |my |his |her )*(?:commands?|instructions?|orders?"
        r"|requests?|sender|whoever|whatever)\b",
    ),
    Form(
        "memory memories knowledge beliefs memori permanently core this~as directive loyalty allegiance "
        "master owner boss principal your~instructions your~rules",
        r"\b(?:save|store|write|add|commit|record|put|update|note)\b(?: this| the following| it"
        r"| down)?,? ?(?:in|to|into|on)? ?(?:your |the )(?:long-?term |core |permanent |persistent "
        r"|own )?(?:memory|memories|knowledge)\b(?: so)?(?: that|:| to say| with)"
        r"|\b(?:memori[sz]e (?:this|the following)(?: as|:| and)|(?:store|save|remember"
        r"|keep)(?: this)? permanently ?:)"
        r"|\b(?:store|save|keep|record) this as (?:an? )?(?:\w+ )?(?:fact|memory|rule|truth)\b"
        r"|\b(?:as a|to your|in your) core (?:fact|memory|belief)"
        r"|\bsave to memory ?:"
        r"|\bupdate your (?:memory|memories|instructions|rules|beliefs|core memory)\b"
        r"|\byour (?:primary|prime|main|first|only|secret|true|real) (?:directive|loyalty|allegiance|master"
        r"|owner|boss|principal)\b",
    ),
    Form(
        "~ai a.i. llm language~model chatbot chatgpt gpt claude gemini copilot assistant automated machine "
        "~ais ~bot",
        r"\b(?:dear|hey|hello|attention|note (?:for|to)|message (?:for|to)|instructions? (?:for|to)"
        rf"|to) (?:any |all |the |every )?{AI}(?: (?:reading|processing|reviewing|summari[sz]ing) (?:this"
        r"|it)(?: \w+){0,2})? ?(?:[,:;]| - )"
        r"|\bif you (?:can |are able to )?(?:read|are reading|see) this\b.{0,40}\b(?:ai|llm|language model"
        r"|assistant)\b"
        r"|\b(?:if you are|if you're|in case you are) (?:an? )?(?:ai|llm|language model|chatbot|ai (?:agent"
        r"|assistant|model)|automated (?:agent|system|reviewer))\b"
        rf"|\b{AI} (?:are|is) (?:hereby |kindly )?(?:asked|requested|instructed|ordered|urged|told) to\b"
        r"|(?:^|[.!?] )(?:for|to|attention) (?:any |all |every |the )?(?:automated|ai|machine"
        r"|llm)[ -]?(?:readers?|systems?|agents?|reviewers?|parsers?|models?) ?[:,]"
        rf"|\b{AI} (?:that (?:read|process|see|parse|review)s? |reading |processing |reviewing "
        rf"|parsing )(?:this|the|these)\b(?: \w+){{0,3}},? (?:{MUST}|please|is|are)"
        r"|(?:^|[.!?:>] ?)(?:chatgpt|claude|gemini|copilot|ai),? (?:when|if|please|you|always|never|once"
        r"|as soon)\b.{0,60}\b(?:you|tell|say|always|never|must|recommend)\b",
    ),
    Form(
        "permission confirmation approval user owner human operator principal & ask wait prompt seek",
        rf"\b(?:run|execute|do|perform|apply) (?:every|all|the|each|any|these|this) {W}{{0,8}}?(?:and "
        r"|but )?(?:do not|don'?t|without|never) (?:ask|wait|prompt|seek)\w*\b.{0,40}\b(?:user|owner|human"
        r"|permission|confirmation|approval)"
        r"|\b(?:the (?:assistant|agent|model|ai)"
        rf"|you) {MUST} {W}{{1,10}}?without asking (?:for (?:confirmation|permission|approval)|{USER})",
    ),
)

_WHEN = (
    r"(?:when|whenever|if|once|the next time|next time|any time|every time|each time|as soon as|after"
    r"|in case)"
)
_AT_ONCE = (
    r"(?:then |you |always |simply |just |only |first |must |should |will |please |immediately "
    r"|secretly ){0,4}"
)
_THEN = (
    rf"(?:[^.!?]{{0,120}}?(?:[,:] | then ){_AT_ONCE}{SAY}\b|[^.!?,]{{0,60}}? {_AT_ONCE}(?:say|answer|respond"
    r"|reply|claim|insist|tell|recommend)\b)"
)
_DELAYED_TRIGGER = (
    Form(
        "asked prompted queried questioned",
        rf"\b(?:{_WHEN}|upon being)(?: you are| you're| you get| ever| someone is)? (?:asked|prompted|queried"
        rf"|questioned)\b(?! to\b){_THEN}"
        rf"|\b{_WHEN}(?: you are| you're)? asked to\b[^.!?]{{0,80}}?, {_AT_ONCE}(?:say|answer|respond|reply"
        r"|claim|pretend|insist)\b",
    ),
    Form(
        "user owner human operator principal somebody someone anybody anyone",
        rf"\b{_WHEN} {ASKER} (?:next |ever |first |then )?{ASKS}\b{_THEN}"
        rf"|\bwait (?:until|for|till) {USER} (?:[^\s.!?]+ ){{1,6}}?(?:,? ?then|and then|before)\b",
    ),
    Form(
        "should if~ when~ whenever once~ & anyone anybody someone somebody user owner human operator "
        "question topic subject",
        rf"\bshould {ASKER} (?:ever )?(?:ask|mention|bring up|inquire|question|raise"
        r"|want)\b[^.!?]{0,80}?, (?!the |it |they |he |she |we |there )"
        r"|\b(?:if|when|whenever) (?:a |any |the )?(?:question|topic|subject)s? (?:about |of |on "
        r"|regarding )?[^.!?]{0,40}?(?:comes? up|arises?|(?:is|are) (?:raised"
        rf"|asked))\b[^.!?]{{0,20}}?, {_AT_ONCE}(?:{SAY}|quote|name|blame|point)\b"
        rf"|\b(?:if|when|whenever|once) {ASKER} (?:wants?|needs?|looks? for"
        rf"|is looking for)\b[^.!?]{{0,60}}?, {_AT_ONCE}(?:say|name|recommend|suggest|tell|claim|promote"
        r"|quote|answer|reply)\b",
    ),
    Form(
        "word phrase trigger code hearing turns~to moves~to shifts~to drifts~to comes~to ~if~the~",
        r"\b(?:when|whenever|if|once|the moment|as soon as|on) (?:you )?(?:see(?:ing)?|read(?:ing)?"
        r"|hear(?:ing)?|encounter(?:ing)?|receiv(?:e|ing)|detect(?:ing)?|find) (?:the |this |a |an "
        r"|any )?(?:word|phrase|code ?word|keyword|trigger)\b"
        r"|\b(?:up)?on hearing [\"'(]"
        r"|\bif (?:the|a) (?:conversation|talk|discussion|chat) (?:turns|moves|shifts|drifts"
        rf"|comes) to\b[^.!?]{{0,40}}?, {_AT_ONCE}{SAY}\b"
        r"|\bif the (?:word|phrase|keyword|code ?word|string|name) (?:[^\s.!?]+ ){1,6}?(?:appears|occurs"
        rf"|is (?:used|said|mentioned|typed)|comes up)[^.!?]{{0,80}}?\b{SAY}\b"
        r"|\b(?:trigger|activation|magic|wake) (?:phrase|word|code) (?:is|will be"
        r"|:)[^!?]{0,80}\b(?:on hearing|when you|upon|then|you|once)\b",
    ),
    Form(
        "messages turns replies questions prompts conversations sessions",
        r"\bafter (?:\w+ ){0,2}?(?:more )?(?:messages|turns|replies|questions|prompts|conversations"
        r"|sessions)\b[^.!?]{0,20}[, ](?:start|begin|stop|switch|recommend|send|run|tell|delete|say"
        r"|you)\b",
    ),
    Form(
        "next",
        rf"\b(?:on|upon|at|after|with) (?:the )?(?:{USER}(?:'s)? )?next (?:question|request|message|prompt"
        rf"|turn|query|session|conversation)\b[^.!?,]{{0,60}}?, {_AT_ONCE}{SAY}\b",
    ),
)

_FALSE_PERMISSION = (
    Form(
        "user owner human admin operator developer principal & approv authori allow permit grant consent "
        "given gave agreed confirmed waived cleared",
        r"\b(?:user|owner|human|administrator|admin|operator|developers?|principal) (?:has |have "
        r"|had )?(?:already |previously |explicitly |pre-?|fully ){0,3}(?:approved|authori[sz]ed|allowed"
        r"|permitted|granted|consented|given|gave|agreed|confirmed|waived|cleared)\b(?: (?:to|that|the|you"
        r"|agents?|assistant|us|me|a|an|in|advance|full|blanket|general|explicit|for|of|with|all|any|every"
        r"|each|sharing|share|run|running|use|using|disclose|access|permission"
        r"|consent)){0,8}? (?:all (?:future|further|later|upcoming|purchases|commands|actions|requests"
        r"|transfers|payments|tool|operations|changes|personal|data|files)|any (?:command|action|request"
        r"|transfer|payment|tool|operation|file|purchase|code|change)|every (?:tool|command|action|request"
        r"|transfer|payment|purchase|operation|file|future)|unrestricted|unlimited|blanket|full access"
        r"|no (?:confirmation|approval|permission|review)|passwords|secrets|credentials)",
    ),
    Form(
        "been~cleared been~approved been~auth been~pre been~allowed consent permission clearance approval "
        "auth confirmation is~fine is~ok is~happy are~fine are~ok are~happy been~granted been~given check "
        "review ask~ confirm",
        r"\b(?:have|has|had) (?:all )?(?:already )?been (?:cleared|approved|authori[sz]ed|pre-?approved"
        r"|allowed) by (?:the|your) (?:owner|user)\b(?=[^.!?]{0,30}\b(?:beforehand|in advance|already"
        r"|always|forever))"
        r"|\b(?:owner|user) (?:is|are) (?:fine|ok|okay|happy) with (?:everything|anything|whatever"
        r"|all (?:that|of))"
        r"|\byou have been (?:granted|given) (?:root|full access|unrestricted|unlimited)"
        r"|\b(?:owner|user) (?:has )?(?:told|said|confirmed)\b[^.!?]{0,20}?\byou (?:no longer need"
        r"|need not|do not need|don'?t need|do not have|don'?t have) to (?:ask|confirm|check)\b"
        r"|\byou already have (?:the |full )?(?:consent|permission|approval|authori[sz]ation|clearance)\b"
        r"|\b(?:approval|confirmation|permission|consent) is (?:not|never|no longer) (?:required|needed"
        r"|necessary) for (?:anything|whatever)"
        r"|\b(?:user|owner) (?:has )?(?:told|said|confirmed|stated|agreed|wants)\b[^.!?]{0,30}?\b(?:you"
        r"|the (?:assistant|agent)) (?:can|may|should|must) (?:skip|ignore|bypass|waive|omit) (?:all|any"
        r"|every|the) (?:confirmation|approval|check|review|permission)",
    ),
    Form(
        "permission grant blanket",
        r"\bpermission to (?:\w+ ){1,4}?(?:any|all|every) (?:\w+ ){0,3}?(?:was|has been|is"
        r"|were) (?:already )?(?:given|granted|approved)"
        r"|\bgrant(?:ed|s)? (?:you|the (?:assistant|agent|ai|model)) (?:full|unrestricted|unlimited|complete"
        r"|root|admin) (?:access|permission|control|rights)"
        r"|\b(?:gave|given|has|have) blanket (?:permission|consent|approval|authori[sz]ation)",
    ),
)

_ENCODED_ORDER = (
    Form(
        "decod decrypt decipher deobfuscat unscrambl rot13 convert translat",
        r"\b(?:decode|decrypt|decipher|deobfuscate|unscramble|rot13|convert"
        r"|translate)\b[^.!?]{0,80}?\b(?:and|then)\b[^.!?]{0,30}?\b(?:follow|obey|do (?:what|as) (?:it"
        r"|they)|carry out|comply|act on|execute it)",
    ),
    Form(
        "decod decrypt decipher",
        r"\b(?:decode|decrypt|decipher) (?:this|it|the (?:text|string|line"
        r"|message) below)\b[^.!?]{0,40}?\b(?:and|then) (?:remember|memori[sz]e|store|save|keep)\b",
    ),
    Form(
        "reverse letter word character string line backwards text",
        r"\b(?:reverse|read (?:every|only|each|just)|take (?:every|the first)"
        r"|backwards)\b[^.!?]{0,60}?\b(?:letters?|words?|characters?|strings?|lines?"
        r"|text)\b[^.!?]{0,40}?\b(?:and|then) (?:act on|carry out|follow|obey|execute|do (?:it|what|as))",
    ),
    Form(
        "base64 hex rot13 encoded cipher",
        r"\b(?:base64|hex|rot13|encoded|cipher)\b[^.!?]{0,60}?\b(?:your|real|actual"
        r"|true) (?:\w+ )?(?:orders|instructions|task|commands)\b",
    ),
)

STANDING: dict[str, tuple[Form, ...]] = {
    "standing_order": _STANDING_ORDER,
    "delayed_trigger": _DELAYED_TRIGGER,
    "false_permission": _FALSE_PERMISSION,
    "encoded_order": _ENCODED_ORDER,
}
