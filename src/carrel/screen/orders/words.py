"""The words that orders to an agent are made of, as pieces of patterns over folded text."""

from typing import NamedTuple


class Form(NamedTuple):
    """A pattern, and words of which one of each group must stand in a text before it is worth trying."""

    needs: str
    pattern: str


S = r"[\W_]{0,4}"
"""Between two words; nothing at all where somebody wrote them as one."""
W = r"(?:[^\s!?;]{0,60}[^\s.!?;] )"
"""One word of a sentence, and the space behind it."""

FILL = (
    r"(?:all|any|every|each|of|the|these|those|this|that|what|your|my|our|other|and|or|previously|previous"
    r"|prior|earlier|preceding|following|subsequent|former|foregoing|past|above|initial|original|existing"
    r"|current|old|given|system|hidden|secret|developer'?s?|operator'?s?|safety|ethical|content|security"
    r"|internal|core|such|built-?in|first|openai'?s?|anthropic'?s?)"
)
"""What may stand before `instructions` without making them somebody else's."""
TELLING = (
    r"(?:all|any|your|previous|prior|earlier|preceding|former|foregoing|above|initial|original|existing"
    r"|system|hidden|developer|operator|safety|openai)"
)
"""What makes instructions those of the agent."""
INSTRUCTIONS = (
    r"(?:instructions?|directives?|prompts?|guidelines?|rules?|orders|commands|programming|training"
    r"|guardrails?|safeguards|restrictions?|constraints|polic(?:y|ies)|directions|limitations|limits|filters"
    r"|alignment|safety)"
)
LIMITS = r"(?:restrictions?|rules|limits|limitations|filters?|guidelines|guardrails|constraints|boundaries)"
FOLLOW = r"(?:follow|obey|comply with|listen to|adhere to|respect|honou?r|abide by)(?:ing)?"
IGNORE = (
    r"(?:(?:ignor|disregard|neglect|disobey|abandon|violat)(?:e|ing)?|forget(?:ting)?|unlearn|defy|set aside"
    r"|(?:pay|give) no (?:attention|heed) to|(?:do not|don'?t|never|no longer|must not|need not|should not"
    rf"|shall not|cannot|stop|cease|quit|not) (?:have to |need to |longer )?{FOLLOW}|no longer (?:have"
    rf"|need) to {FOLLOW})"
)
REMOVE = (
    r"(?:overrid(?:e|ing)|overrule|bypass(?:ing)?|circumvent|evade|discard|drop|delete|erase|wipe|remove"
    r"|reset|clear|disabl(?:e|ing)|turn off|switch off|deactivate|suspend|replace|rewrite|overwrite|break"
    r"|lift|unlock)"
)
AI = (
    r"(?:ai|a\.i\.|llms?|ais|(?:large )?language models?|chat ?bots?|chatgpt|gpt-?\w{0,3}|claude|gemini"
    r"|copilot|ai (?:models?|agents?|assistants?|systems?|reviewers?|tools?|readers?)|assistants?)"
)
YOU = r"(?:you|the (?:ai )?(?:assistant|agent|model|chatbot|bot|llm|ai)|chatgpt|claude|gemini|copilot)"
USER = r"(?:the|your|a|any) (?:user|owner|human|operator|principal)"
ASKER = r"(?:(?:the |your )?(?:user|owner)|the human|the operator|somebody|someone|anybody|anyone)"
"""Who asks the agent; an owner writes `I`, and a product has `users`."""
MUST = (
    r"(?:must|should|shall|will|ought to|have to|has to|need to|needs to|are to|is to|are required to"
    r"|is required to|are going to)"
)
SAY = (
    r"(?:say|answer|respond|reply|claim|insist|state|recommend|tell|suggest|assert|pretend|deny|refuse"
    r"|promote|praise|advise|mention|include|output|print|send|run|execute|call|open|delete|forward|transfer"
    r"|append|lie|link|direct|refer|invoke|save|report that|declare|confirm|remember|change the subject)"
)
ASKS = (
    r"(?:asks?|asked|mentions?|says?|requests?|inquires?|types?|writes?|brings? up|talks? (?:about|of)"
    r"|wants? to know|speaks? (?:about|of)|questions?|greets?|thanks|discusses|raises)"
)
NOTE = (
    r"(?:instructions?|rules?|orders?|messages?|notes?|memory|memories|directives?|prompt|request|text|page"
    r"|step)"
)
ANSWERS = r"(?:responses?|repl(?:y|ies)|answers?|messages?|outputs?)"
TALKS = (
    r"(?:conversations?|responses?|answers?|chats?|sessions?|repl(?:y|ies)|interactions?|recommendations?"
    r"|quer)"
)
ENDORSE = (
    r"(?:recommend|cite|mention|promote|prefer|suggest|reference|favou?r|trust|endorse|quote|link to|praise"
    r"|remember)"
)
SECRETS = (
    r"(?:secrets?|passwords?|credentials|api[ _-]?keys?|access tokens?|private keys?|ssh keys?"
    r"|environment variables?|env vars|\.env\b|system prompt|chat (?:history|log|transcript)"
    r"|conversation(?: history| log)?|(?:your|the|all) (?:memory|memories)|memory files?|personal (?:data"
    r"|information|details)|(?:security codes?|passport numbers?|bank account numbers?|credit card numbers?)"
    r"|(?:all )?user information|everything (?:you (?:know|remember|have)|in your)|keys of the (?:owner"
    r"|user)|(?:user|owner|customer)(?:'s|s')? (?:\w+ )?(?:data|e-?mails?|messages|files|contacts"
    r"|address(?:es)?|keys|history|documents))"
)
