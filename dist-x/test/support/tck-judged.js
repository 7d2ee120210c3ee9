const PAGE_SIZE = 'a2a.proto, ListTasksResponse.page_size: The page size used for this response.';
/**
 * Tests of the TCK that contradict A2A 1.0.1, each with the section and the sentence. The TCK counts the tasks of a page as
 * its size, takes the names of OAuth's members for secrets, and asks for success where A2A has an error.
 */
export const FAULTS = {
    mandatory: {
        // The test calls its own function with four arguments. The function takes three.
        'test_a2a_error_codes_enhanced.test_push_notification_not_supported_error_32003_enhanced': '3.3.4: operations related to push notification configuration MUST return PushNotificationNotSupportedError.',
        'test_tasks_list_method.test_list_tasks_empty_when_none_exist': PAGE_SIZE,
        'test_tasks_list_method.test_default_page_size': PAGE_SIZE,
        'test_tasks_list_method.test_last_page_detection': PAGE_SIZE,
        'test_agent_card_security.test_sensitive_information_protection': 'a2a.proto, ClientCredentialsOAuthFlow.token_url: required. Its JSON name is tokenUrl.',
    },
    capabilities: {
        // A data part without a skill says nothing to this agent.
        'test_a2a_v030_method_enhancements.test_message_send_enhanced_parts_support': '3.3.2: Servers MUST validate all input parameters before processing.',
        // The test takes an error only as an event. The SDK's own client knows the kind of an error only from JSON.
        'test_streaming_methods.test_tasks_subscribe_nonexistent': '9.5: JSON-RPC error responses use the standard JSON-RPC 2.0 error object structure.',
        // The test takes success, and of all errors only "method not found".
        'test_transport_specific_features.test_binary_data_handling': '3.1.1: ContentTypeNotSupportedError: A Media Type provided in the request’s message parts is not supported by the agent.',
    },
};
//# sourceMappingURL=tck-judged.js.map