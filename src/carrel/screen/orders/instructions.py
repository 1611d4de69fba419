"""Orders about an agent's instructions, its secrets and its owner, in English.

A person who notes how things are done gives orders too ("always run the tests"), so an imperative alone is
nothing. What counts is its object: the agent's own instructions, its secrecy, what it says when asked.
Between two words that must both be there only a few others may stand, so that each form takes time in
proportion to the text.
"""

from carrel.screen.orders.words import (
    AI,
    ANSWERS,
    FILL,
    IGNORE,
    INSTRUCTIONS,
    LIMITS,
    NOTE,
    REMOVE,
    SECRETS,
    TELLING,
    USER,
    Form,
    S,
    W,
)

_IGNORING = (
    "ignor disregard neglect disobey abandon violat forget unlearn defy aside attention heed follow obey "
    "comply listen "
    "adher respect honor honour abid"
)
_OBJECTS = (
    "instruction directive prompt guideline rule orders command programming training guardrail safeguard "
    "restriction "
    "constraint polic direction limit filter alignment safety"
)
_LIMITED = "restriction rules limit filter guideline guardrail constraint boundar"

_CONTROL = (
    r"(?:instructions?|directives?|prompt|system prompt|guidelines|rules|guardrails|safeguards|restrictions"
    r"|programming|guidance|safety (?:rules|policy|policies|training|checks))"
)
_CONTROLS = (
    "guidance instruction directive prompt guideline rules guardrail safeguard restriction programming safety"
)
_SUBVERT = (
    r"(?:break(?:ing)?|ignor|disregard|bypass|work(?:ing)? around|circumvent|unlearn|forget|suspended|void\b"
    r"|no longer|overrid|outrank|in the way|obsolete|opposite of|do(?:es)? not (?:apply|count|matter)"
    r"|don'?t (?:apply|count|matter)|violat|disabl|act(?:ing)? against|go(?:ing)? beyond|expired)"
)
_SUBVERTING = (
    "break ignor disregard bypass around circumvent unlearn forget suspended void longer overrid outrank way "
    "obsolete opposite not n't dont violat disabl against beyond expired"
)

_OVERRIDE = (
    Form(
        f"{_IGNORING} & {_OBJECTS}",
        rf"\b{IGNORE}{S}(?=(?:{FILL}{S}){{0,7}}?{TELLING})(?:{FILL}{S}){{1,8}}{INSTRUCTIONS}(?:(?![a-z])"
        r"|(?=and|then))",
    ),
    Form(
        f"{_IGNORING} & {_OBJECTS}",
        rf"\b{IGNORE} (?:the |those |all |any )?{INSTRUCTIONS}(?:,| above| before (?:this|that)| you (?:were"
        r"|have|had|received|got)| and (?:just|instead|only|print|say))",
    ),
    Form(
        f"{_IGNORING} & ~everything ~anything ~all ~what",
        rf"\b{IGNORE} (?:everything|anything|all|whatever|what) (?:that )?(?:is |was |stands "
        r"|came )?(?:above(?! (?:the|line|\d))|before(?= ?[.,!]|$| (?:this|now|and))|previously"
        r"|prior to this|i (?:said|told)|you (?:were|have been|had been|know|learned))",
    ),
    Form(
        f"{_IGNORING} & human user owner operator developer",
        rf"\b{IGNORE} (?:whatever|anything|everything|all|what) (?:that )?(?:the|your) (?:human|user|owner"
        r"|operator|developer) (?:says|said|wants|asks|asked|tells|told)\b",
    ),
    Form(
        "ignor disregard & rest data info text document page content",
        r"\b(?:ignore|disregard) (?:(?:the )?rest of |all other |everything else in )?(?:this|the"
        r"|all) (?:data|text|document|page|info|information|content)(?: and (?:just |only "
        r"|instead )?(?:print|say|output|write|answer|respond|reply|tell)| except (?:for )?the following)",
    ),
    Form(
        f"your & {_OBJECTS}",
        rf"\b{REMOVE} (?:{FILL} ){{0,4}}?your (?:{FILL} ){{0,3}}{INSTRUCTIONS}\b",
    ),
    Form(
        f"{_IGNORING} trust & text page document file site message operator developer owner user system "
        "creator",
        rf"\b{IGNORE} (?:the |all )?(?:rules|orders|instructions) (?:of|from|set by) (?:your"
        r"|the) (?:developer|operator|creator)"
        r"|\b(?:do not|don'?t|never|stop) (?:obey|listen to|trust) (?:the|your) (?:operator|developer|owner"
        r"|user|system)\b"
        r"|\bobey the (?:text|page|document|file|web ?site|message)",
    ),
    Form(
        "void revoked cancel obsolete supersed overridden suspended outdated invalid longer test joke "
        "replaced fake trick",
        rf"\b(?:your|previous|prior|earlier|original|system|above) (?:{FILL} )?(?:instructions?|prompt|orders"
        r"|directives|directions) (?:above |before |given |you )?(?:are |is |were |was |have been "
        r"|has been )?(?:now |all |hereby )?(?:void|revoked|cancell?ed|obsolete|superseded|overridden"
        r"|suspended|outdated|invalid|no longer|a test|a joke|replaced)"
        r"|\binstructions? (?:above|before|you (?:were|have been) given"
        r"|you received)(?: [\w']+){0,3}? (?:are|were|is|have been) (?:now |all |hereby )?(?:void|revoked"
        r"|cancell?ed|obsolete|superseded|invalid|no longer)"
        r"|\beverything (?:above|before) (?:this|that)?(?: [\w']+){0,3} ?(?:is|was|were) (?:a (?:joke|test"
        r"|trick)|void|fake)",
    ),
    Form(
        "instruction orders task goal mission objective purpose your~",
        r"\b(?:real|actual|true|new|updated) (?:system )?(?:instructions?|orders) ?(?:follow\b|begin|start"
        r"|come next|are as follows|:)"
        r"|\byour (?:new|real|true|actual|only|sole|secret|updated) (?:task|goal|mission|objective|purpose"
        r"|instructions?|orders|job) (?:is to|are to|is now|are now|are:|is:)",
    ),
    Form(
        "preceden priority supersed overrid trump outrank replac & instruction prompt directive orders "
        "programming",
        r"\b(?:tak(?:e|es|ing) (?:precedence|priority) over|supersedes?|overrides?|trumps?|outranks?"
        rf"|replaces?) (?:{FILL} ){{0,6}}?(?:your|all|any|previous|earlier"
        rf"|prior) (?:{FILL} ){{0,6}}?(?:instructions?|prompts?|directives|orders|programming)",
    ),
    Form(
        f"{_LIMITED} confines & you chatgpt claude there without free",
        r"\b(?:you|chatgpt|claude) (?:now )?(?:have|has|are under|are bound by|face) no (?:longer (?:any"
        rf"|bound by) )?(?:\w+ ){{0,2}}?{LIMITS}"
        rf"|\bas if (?:you|there) (?:had|have|were|are) no {LIMITS}"
        r"|\b(?:answer|respond|reply|act|speak"
        rf"|operate)\b (?:[\w']+ ){{0,3}}?without (?:any )?(?:\w+ ){{0,2}}?{LIMITS}"
        rf"|\bfree(?:d)? (?:from|of) (?:\w+ ){{0,3}}?(?:confines|{LIMITS})",
    ),
    Form(
        "mode anything~now character",
        r"\b(?:dan|jailbreak|jailbroken|unrestricted|unfiltered|uncensored|god) mode\b"
        r"|\bdo anything now\b"
        r"|\byou are (?:now )?in (?:developer|debug|admin|god|root|maintenance|test|sudo|unrestricted) mode"
        r"|\bdeveloper mode (?:is )?(?:now )?(?:enabled|activated|on)\b.{0,40}\b(?:respond|answer|you|ai"
        r"|chatgpt|polic)"
        r"|\b(?:always|never|must|will|at all times) (?:[\w']+ ){0,2}?(?:stays?|remains?"
        r"|breaks?) (?:in )?character\b",
    ),
    Form(
        f"your yours & {_CONTROLS} & {_SUBVERTING}",
        rf"\byour (?:own |current |built-?in )?{_CONTROL}\b[^.!?]{{0,80}}?\b{_SUBVERT}"
        rf"|\b{_SUBVERT}[^.!?]{{0,40}}?\byour (?:own |current |built-?in |\w+ )?{_CONTROL}\b",
    ),
    Form(
        f"{_CONTROLS} & {_SUBVERTING}",
        rf"\b{_CONTROL} (?:that |which )?(?:you (?:operate under|follow|obey|have|got|were given|are under"
        r"|work under)|(?:were |are )?(?:placed on|given to|imposed on|set for) you|your (?:maker|developer"
        rf"|creator|operator|owner)s? (?:gave|set|told|wrote))\b[^.!?]{{0,60}}?\b(?:{_SUBVERT}|outrank)"
        rf"|\b{_SUBVERT} (?:\w+ ){{0,3}}?{_CONTROL} (?:that |which )?(?:(?:were |are )?(?:placed on|given to"
        r"|imposed on|set for) you|you (?:operate under|follow|obey|were given|are under))",
    ),
    Form(
        "told said gave taught & operator developer owner user system maker creator",
        r"\b(?:everything|anything|whatever|all|what) (?:that )?(?:the|your) (?:operator|developer|owner"
        r"|user|system|maker|creator) (?:told|said to|gave|taught) you\b[^.!?]{0,30}?\b(?:outdated|wrong"
        r"|false|void|a lie|no longer|ignor|forget)",
    ),
    Form(
        "system & prompt & suggestion opposite optional not~",
        r"\bsystem prompt\b[^.!?]{0,30}?\b(?:suggestion|optional|not a rule|not binding)"
        r"|\bopposite of (?:what )?(?:the|your) system prompt",
    ),
    Form(
        "before~you stop~ message~from",
        r"\bbefore you (?:can |may )?(?:solve|complete|continue|answer|finish|do|start"
        r"|proceed)\b.{0,80}?\b(?:do|perform|execute|complete|run) (?:the following|these (?:steps|tasks)"
        r"|this first)\b"
        r"|\bstop (?:everything|what you(?:'re| are) doing|all (?:tasks|actions)) ?(?:!|now|immediately|and"
        r"|\.|,)"
        r"|\bmessage from (?:me|your (?:user|owner|developer)),? (?:[^\s.!?]+ ){0,4}?to you\b",
    ),
    Form(
        "safety security content checks",
        r"\ball (?:safety|security|content) (?:checks|filters|rules|protocols|measures) are (?:now )?(?:off"
        r"|disabled|lifted|suspended)",
    ),
    Form(
        "amoral unfiltered uncensored unethical immoral illegal ethic moral refus openai laws legality "
        "no~matter regardless not~ declin disclaimer warning inappropriate even~if",
        r"\b(?:no matter how|regardless of how|even if (?:it is|they are"
        r"|it's)) (?:[\w']+,? ){0,5}?(?:illegal|immoral|unethical|harmful|offensive)"
        rf"|\b(?:no|any|without|lacks?) (?:\w+ ){{0,2}}?(?:moral|ethic)\w* (?:\w+ ){{0,3}}?(?:{LIMITS}"
        r"|compass|concerns)"
        r"|\b(?:amoral|unfiltered|uncensored)\b.{0,60}\b(?:ai|chatbot|persona|gpt|character|responses?"
        r"|answers?|model)\b"
        r"|\b(?:never|cannot|can'?t|won'?t|will not|does not|doesn'?t|don'?t|not) (?:ever )?(?:refuses?"
        r"|decline) (?:any|a|to answer|the user|user|requests?|an)\b"
        r"|\b(?:disregards?|ignor(?:es?|ing)|(?:not|n'?t) care (?:about |if )?|violating"
        r"|without regard(?:ing)?(?: for| to)?) ?(?:(?:all|any|the|its|things are) ){0,2}(?:laws|ethic\w*"
        r"|moral\w*|legality|openai\w*|unethical|illegal)"
        r"|\bnot (?:bound|governed|restricted|constrained|limited) by (?:\w+ ){0,3}?(?:openai|polic"
        rf"|{LIMITS})"
        r"|\bwithout (?:hesitation|refusal|disclaimers?|warnings?)(?:,? (?:or|and) (?:\w+ )?(?:refusal"
        r"|disclaimers?|warnings?))"
        r"|\b(?:unethical|illegal|immoral|inappropriate)(?:, | or | and |/)(?:\w+(?:, | or | and "
        r"|/)){0,3}?(?:unethical|illegal|immoral|explicit|dangerous|harmful|offensive)\b",
    ),
)

_TELL = (
    r"(?:reveal|show|print|repeat|output|display|tell|give|share|disclose|expose|dump|leak|list|recite|quote"
    r"|echo|encode|write out|write down|spell out|summari[sz]e|translate|paste|return|send|describe|explain"
    r"|copy|rephrase|rewrite)"
)
_DISCLOSURE = (
    Form(
        "your & prompt system instruction hidden developer initial memor original secret confidential exact "
        "full",
        rf"(?<!never )(?<!not )(?<!n't )(?<!cannot )\b{_TELL}\b:? (?:[\w',:]+ ){{0,5}}?your (?:[\w']+ "
        r"){0,2}?(?:system prompt|system message|system instructions|(?:initial|original|hidden|secret"
        r"|confidential|exact|full) (?:prompt|instructions|message|rules|text)|developer message)\b"
        r"|(?<!never )(?<!not )(?<!n't )(?<!cannot )\b(?:reveal|repeat|print|output|display|recite|leak|dump"
        r"|disclose|paste|echo|show me|tell me|give me"
        r"|encode) (?:[\w',:]+ ){0,4}?your (?:[\w']+ ){0,2}?(?:prompt|instructions)\b"
        r"|\b(?:attach|post|paste|upload|export) (?:\w+ ){0,3}?your (?:memory|memories"
        r"|memory files?) (?:to|in|into)\b",
    ),
    Form(
        "hidden secret confidential internal real actual & rules prompt instruction",
        rf"(?<!never )(?<!not )(?<!n't )\b{_TELL} (?:me |us )?(?:\w+ ){{0,3}}?(?:your (?:hidden|secret"
        r"|confidential|internal|real|actual) rules|(?:hidden|secret|confidential) (?:system )?(?:prompt"
        r"|instructions))\b",
    ),
    Form(
        "system & prompt message instruction",
        rf"\b{_TELL} (?:(?:me|us) )?(?:everything in )?the (?:full |entire |exact "
        r"|complete )?system (?:prompt|message) (?:verbatim|word for word|in full|above|to the user"
        r"|that you)"
        r"|\b(?:show|tell|give|send|read) me (?:the|your) (?:\w+ )?system (?:prompt|message|instructions)"
        r"|\brepeat (?:everything|all|the text) (?:in|of|from) (?:the|your) system prompt"
        r"|\b(?:repeat|recite|read) the system (?:prompt|message) (?:back|aloud|to me|in )",
    ),
    Form(
        "~you~ ~your~ above before~this precedes & instruction text word everything line content prompt "
        "told rules supposed allowed forbidden instructed message",
        r"\b(?:repeat|output|print|copy|recite|spell out) (?:all )?(?:the )?(?:text|words?|everything|lines?"
        r"|contents?) (?:above(?= ?[.,!:;]|$| (?:this|verbatim|in a|starting|word|but|into|and|back))"
        r"|before this|in your instructions|that (?:precedes|comes before) this)"
        r"|\bwhat does your (?:system )?(?:prompt|instructions) say\b"
        rf"|\b{_TELL} (?:me |back )?(?:the |all |your )?(?:\w+ )?(?:instructions|text|prompt"
        r"|rules)\b[^.!?]{0,50}?\b(?:you (?:were|have been|had been|received|got)|given to you)\b"
        r"|\bwhat (?:were|are|was|is) (?:your (?:exact|original|initial|hidden|secret|system"
        r"|full) (?:instructions?|prompt|message)|you (?:not supposed|not allowed|told|instructed"
        r"|forbidden))",
    ),
    Form(
        "secret password credential key token environment env prompt chat conversation memor personal "
        "everything user owner customer code passport account card & repl answer response message comment "
        "output issue request commit summary",
        r"\b(?:include|add|put|paste|insert|append|reply with|respond with|answer with|print|output|list"
        r"|write|mention|reveal|repeat|dump"
        rf"|disclose) (?:[\w'./~-]+ ){{0,7}}?{SECRETS}(?: [\w'./~-]+){{0,7}}? in(?:to)? (?:your|the|a|every"
        rf"|each|all) (?:\w+ )?(?:{ANSWERS}|comment|issue|pull request|commit|summary)\b",
    ),
    Form(
        "secret password credential key token",
        r"(?<!never )(?<!not )(?<!n't )\b(?:put|include|add|insert|append|mention|print|write|leave"
        r"|hide) (?:(?:the|all|any|every|our|their|her|his) )?(?:\w+ ){0,2}?(?:password|api key|secret"
        r"|credential|private key)s? (?:in(?:to)?|at|to|on) (?:the end of )?(?:(?:the|your|every|each"
        r"|a) )?(?:next )?(?:report|answer|reply|message|summary|response|comment|e-?mail|mail|commit|post"
        r"|readme)\b",
    ),
    Form(
        "secret password credential key token",
        r"\b(?:list|print|output|dump|reveal|put|show) (?:me )?(?:every|all|any) (?:secret|password"
        r"|credential|api key|token|key)s? (?:that )?you (?:can|have|know|hold|see|find)",
    ),
    Form(
        "~with~ read~ content value text~of",
        r"\b(?:reply|respond|answer|begin|start) with (?:the )?(?:contents? of|value of|text of) (?:your|~|/"
        r"|\.env|the (?:file|secret|key|memory|env))"
        r"|\bread (?:the file )?(?:~/|/etc/|\.env|/home/)\S{0,60} and (?:include|add|put|paste|pass|send"
        r"|print|output|return|share|tell)"
        r"|\b(?:include|add|put|paste|insert|append) (?:the )?(?:contents?|values?"
        r"|text) of (?:your (?:memory|memories|instructions|prompt|context)|(?:every"
        r"|all) environment variables?)",
    ),
)

_CONCEALMENT = (
    Form(
        "user owner human operator principal",
        r"\b(?:do not|don'?t|never|must not|without) (?:ever )?(?:tell|inform|alert|notify|warn|let|remind"
        rf"|show) {USER}(?: know)?(?: (?:about|of|that|what|why|where|when|anything))? ?(?:this|these|it\b"
        r"|you|your|anything|the (?:mail|message|file|change|memory|rule|instruction|note|transfer|payment"
        r"|real|actual|true)|[.!,;]|$)",
    ),
    Form(
        "without & user owner human operator principal",
        r"(?<!never )(?<!not )(?<!n't )\b(?:do|run|add|send|forward|delete|install|change|execute|use|make"
        rf"|perform|carry|write|save|store|call|keep|continue) {W}{{0,8}}?without (?:telling|informing"
        rf"|notifying|alerting|asking|the knowledge of|letting) {USER}",
    ),
    Form(
        "mention reveal disclose discuss admit acknowledge report talk refer speak log record delete aware "
        "told informed need",
        r"\b(?:do not|don'?t|never|must not|nor) (?:ever )?(?:mention|reveal|disclose|discuss|admit"
        r"|acknowledge|talk about|refer to|speak of) (?:this|these|it|that|having|such) ?(?:hidden |secret "
        rf"|special )?(?:{NOTE}\b|to (?:anyone|anybody|the (?:user|owner|human))|[.!,;]|$)"
        r"|\b(?:do not|don'?t|never) (?:log|record) this (?:action|step|request|conversation)\b"
        r"|\bdelete this (?:message|note|entry|mail|memory) (?:after|once|as soon as) you\b"
        r"|\b(?:user|owner|human) (?:must|should|shall|may) not be (?:made aware|told|informed) (?:of"
        r"|about) (?:this|the change|it)"
        rf"|\bno need to (?:bother|tell|inform|ask|involve) (?:{USER}) (?:with|about|of) (?:this|it)"
        rf"|\bdo not report (?:it|this|that|them) to (?:{USER}|anyone|the)",
    ),
    Form(
        "keep hide conceal withhold",
        r"\b(?:keep|hide|conceal|withhold) (?:this|these|it|that|the) ?(?:\w+ ){0,3}?(?:hidden |secret "
        rf"|confidential |away |private )?from (?:{USER}|everyone|anyone|them)"
        rf"|\bkeep (?:this|these|the) {NOTE} (?:hidden|secret|private|confidential|to yourself)",
    ),
    Form(
        "secretly covertly surreptitiously stealthily silently quietly",
        r"\b(?:secretly|covertly|surreptitiously|stealthily) (?:add|include|insert|send|forward|copy|append"
        r"|inject|log|record|collect|change|install|transfer|bcc|store|save|run|delete|replace|put"
        r"|upload)\b"
        r"|\b(?:send|forward|copy|transmit|upload|leak|exfiltrate|bcc|delete"
        r"|transfer)\b (?:[\w']+ ){0,5}?(?:silently|secretly|covertly|quietly)\b",
    ),
    Form(
        "find know notice learn told aware suspect invisible hidden visible unseen ~see",
        rf"\b(?:{USER}|nobody|no one|the human|people) (?:must|should|shall|may|can|need|needs)(?: not| never"
        r"|n't)? (?:ever )?(?:find out|know|notice|learn|be told|be aware)\b(?: (?:about|of|that) (?:this"
        r"|these|it|you)| ?[.!,;]| ?$)"
        rf"|\bso that {USER} (?:does not|doesn'?t|will not|won'?t|cannot|can'?t|never) (?:notice|see|know"
        r"|find|suspect)"
        r"|\b(?:invisible|hidden|not visible|unseen) (?:to|from|by) (?:humans|people|human readers)\b"
        rf"|\bvisible (?:only )?to (?:the )?{AI}\b",
    ),
    Form(
        "deny pretend",
        r"\b(?:deny|pretend) (?:that )?(?:you|this|these|having"
        r"|any knowledge of)\b(?: [\w']+){0,5}? (?:seen|read|received|exists?|know|knew|knowing|this"
        r"|never)",
    ),
    Form(
        "summar report log answer reply list output transcript & user owner human you",
        r"\b(?:remove|omit|leave|strip|exclude|drop) (?:this|these|the) (?:\w+ ){0,3}?(?:from"
        r"|out of) (?:any|all|every|the|your) (?:\w+ ){0,2}?(?:summary|summaries|reports?|logs?|answers?"
        r"|reply|list|output|transcript)\b.{0,40}\b(?:user|owner|human|you)\b",
    ),
    Form(
        "~no~trace ~no~record ~no~mention ~no~log nothing let~on leave quietly discreetly silently covertly "
        "hear know learn be~told disclose reveal mention tell ~say~",
        r"\b(?:leave|keep) no (?:trace|record|mention|log) of (?:this|it|these|the (?:step|change|message))"
        r"|\bsay nothing (?:about|of) (?:this|these|it)\b"
        r"|\b(?:do not|don'?t|never) let on\b"
        r"|\bleave (?:this|it|these) ?(?:\w+ )?out\b(?=[^.!?]{0,60}\b(?:list|remember|summar|report|user"
        r"|owner))"
        r"|\b(?:list|remember|summar\w+|report)\b[^.!?]{0,50}?\bleave (?:this|it|these) ?(?:\w+ )?out\b"
        r"|\b(?:carry (?:this|it) out|perform (?:this|it)) (?:quietly|discreetly|silently|covertly)"
        rf"|\b{USER} (?:do(?:es)? not|doesn'?t|don'?t|need not|never)(?: (?:need|have) to)? (?:hear|know"
        r"|learn|be told)(?: (?:about|of|that))? (?:this|it\b|these|you)"
        r"|\b(?:do not|don'?t|never) (?:disclose|reveal|mention|say|tell) (?:\w+ )?(?:where|how|why"
        rf"|who) (?:this|these|the) {NOTE}",
    ),
    Form("between", r"\bbetween you and me\b.{0,60}\b(?:owner|user|human|nobody|no one)"),
)

ORDERS: dict[str, tuple[Form, ...]] = {
    "override": _OVERRIDE,
    "disclosure": _DISCLOSURE,
    "concealment": _CONCEALMENT,
}
